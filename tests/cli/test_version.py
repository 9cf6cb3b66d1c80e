"""``restow version``, ``restow help`` and ``make help``."""

from __future__ import annotations

import json
import platform
import subprocess
from pathlib import Path

import pytest

import restow as package
from restow.serving.metrics import FOLLOWS

ROOT = Path(__file__).parents[2]


def test_the_version_says_whose_rules_it_follows(restow):
    told = json.loads(restow("version", "-o", "json").out)
    assert told == {
        "apiVersion": "restow.dev/v1alpha1",
        "kind": "Version",
        "restow": package.__version__,
        "python": platform.python_version(),
        "kubernetes": "1.36",
        "descheduler": "0.36",
    }
    assert FOLLOWS.startswith(f"v{told['descheduler']}.")
    assert restow("version").out.startswith(f"restow {package.__version__}, Python ")


@pytest.mark.parametrize("command", [(), ("plan",), ("explain", "node"), ("policy", "lint")])
def test_help_is_what_the_option_shows(restow, command):
    assert restow("help", *command) == restow(*command, "--help")


def test_help_of_a_command_that_is_not_there_is_refused(restow):
    ran = restow("help", "nope")
    assert (ran.status, ran.out) == (2, "")
    assert 'Unknown command "nope"' in ran.err


def test_make_help_lists_every_verb():
    told = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert {"demo", "test", "check", "oracle", "e2e"} <= {line.split()[0] for line in told.splitlines()}
