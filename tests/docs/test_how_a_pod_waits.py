"""The page about waiting pods names what each plugin waits for, in the words of its declaration."""

from __future__ import annotations

from docs.pages import ROOT
from restow.scheduling.configuration.registry import IN_TREE

PAGE = ROOT / "docs" / "explanation" / "how-a-pod-waits.md"


def test_the_table_says_what_the_plugins_say():
    rows = dict(
        line.strip("| ").split(" | ", 1)
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and line.strip("| ").split(" | ")[0] in IN_TREE
    )
    assert rows == {
        name: "; ".join(interest.words for interest in plugin.interests)
        for name, plugin in IN_TREE.items()
        if plugin.interests
    }


def test_the_plugins_that_nothing_helps_are_named():
    named = {name for name, plugin in IN_TREE.items() if plugin.interests == ()}
    (line,) = [each for each in PAGE.read_text(encoding="utf-8").splitlines() if each.startswith("Nothing helps")]
    assert all(f" {name} " in line for name in named)
