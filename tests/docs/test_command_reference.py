"""The reference of the command line has every command and every option."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from docs.pages import section, text_of
from restow.cli.app import app

PAGE = text_of("docs/reference/command-line.md")
#: Commands whose options are told with another command's.
SHARES = {("policy", "lint"): ["## restow policy validate"], ("explain", "node"): ["## restow explain pod"]}


def command_names(of: Any = app, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command, with the command it belongs to."""
    names = [name for name in of if not name.startswith("-")]
    for name in names:
        yield from command_names(of[name], (*path, name))
    if path and (not names or of.default_command is not None):
        yield path


@pytest.mark.parametrize("names", list(command_names()), ids=" ".join)
def test_every_option_of_a_command_is_documented(names, capsys):
    app([*names, "--help"], exit_on_error=False, print_error=False, result_action="return_value")
    options = set(
        re.findall(r"^  (?:-\w, )?(--[a-z-]+)", capsys.readouterr().out.partition("Examples:")[0], re.MULTILINE)
    )
    headings = ["## What all commands share", f"## restow {' '.join(names)}", *SHARES.get(names, ())]
    written = "".join(section(PAGE, heading) for heading in headings)
    missing = {option for option in options if f"`{option}" not in written}
    assert not missing
