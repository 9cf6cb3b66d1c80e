"""The plugins for k9s call restow as it is, and no name of an object is run as a command."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from restow.cli.app import app

PLUGINS: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "deploy/k9s/plugins.yaml").read_text())["plugins"]


@pytest.mark.parametrize("name", PLUGINS)
def test_a_plugin_calls_a_command_with_options_that_it_has(name: str) -> None:
    _, script, *_ = PLUGINS[name]["args"]
    called = script.partition(" 2>&1")[0].replace('"$1"', "a/b").replace('"$2"', "c").split()
    command, bound, unknown = app.parse_known_args(called[1:])[:3]
    assert command is not None
    assert bound.arguments
    assert not unknown


@pytest.mark.parametrize("name", PLUGINS)
def test_names_reach_the_script_as_arguments_only(name: str) -> None:
    """k9s puts names in the place of its variables before the shell reads the script."""
    _, script, *_ = PLUGINS[name]["args"]
    assert not re.search(r"\$[A-Z]", script)


def test_no_two_plugins_of_a_scope_have_one_key() -> None:
    keys = [(scope, each["shortCut"]) for each in PLUGINS.values() for scope in each["scopes"]]
    assert len(keys) == len(set(keys))
