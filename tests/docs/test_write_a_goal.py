"""The goal of the how-to page works in ``restow plan``, and no file of restow knows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.console import agree, folder_for, output_of, runnable
from docs.goal_package import MODULE, PAGE, WITH_THE_GOAL, installed
from restow.descheduling.rebalancing.goals import goals

NAME = "headroom"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The page's files, with its package installed."""
    with installed(tmp_path), folder_for(PAGE) as files:
        yield files


def test_restow_does_not_know_the_goal_by_itself() -> None:
    assert NAME not in goals()


def test_installed_as_a_package_it_plans_what_the_page_shows(folder: Path) -> None:
    (example,) = runnable(PAGE, WITH_THE_GOAL)
    printed = output_of(example.command, folder)
    assert agree(example.output, printed), printed


def test_a_goal_that_is_unknown_is_named_beside_those_that_are_installed(folder: Path) -> None:
    printed = output_of("restow plan -f examples/clusters/demo.json --goal headrom", folder)
    assert 'goal: "headrom" is unknown; choose one of balance, pack, room, spread, headroom' in " ".join(
        printed.split()
    )


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        pytest.param(
            "    return cost / CORE\n",
            "    return cost / CORE\n\n\ndef Goal(*_, **__): return 1\n",
            "is no Goal",
            id="no goal",
        ),
        pytest.param('"headroom", "cores', '"room", "GiB', 'declares the goal "room"', id="another name"),
        pytest.param("import numpy", "import numpies", "cannot be imported", id="broken"),
    ],
)
def test_a_faulty_package_is_named(tmp_path: Path, folder: Path, old: str, new: str, sentence: str) -> None:
    written = tmp_path / f"{MODULE}.py"
    text = written.read_text(encoding="utf-8")
    assert old in text
    written.write_text(text.replace(old, new), encoding="utf-8")
    printed = output_of("restow plan -f examples/clusters/demo.json --goal headroom", folder)
    assert sentence in " ".join(printed.split())
