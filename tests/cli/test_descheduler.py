"""Arguments that were written for the Descheduler."""

from __future__ import annotations

import sys

import pytest

from restow.cli import descheduler
from restow.cli import main as restow


@pytest.mark.parametrize(
    ("given", "understood"),
    [
        pytest.param(
            ["--policy-config-file", "p", "--v", "3"], ["run", "--policy-config-file", "p", "--v", "3"], id="flags"
        ),
        pytest.param([], ["run"], id="nothing"),
        pytest.param(["--help"], ["run", "--help"], id="help"),
        pytest.param(["help"], ["run", "--help"], id="the word help"),
        pytest.param(["version"], ["--version"], id="version"),
        pytest.param(["version", "-v", "3"], ["--version"], id="version, with a flag of all commands"),
    ],
)
def test_its_arguments_are_those_of_restow_run(given, understood):
    assert descheduler.as_restow(given) == understood


def test_the_process_goes_on_as_restow(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "argv", ["/bin/descheduler", "version"])
    monkeypatch.setattr(restow, "main", lambda: seen.append(list(sys.argv)))
    descheduler.main()
    assert seen == [["/bin/descheduler", "--version"]]
