"""The hook that other repositories use: its command is one that restow has, and passes a good policy."""

from __future__ import annotations

import shlex
from pathlib import Path

import yaml

from restow.cli.main import run

ROOT = Path(__file__).parents[1]


def test_the_hook_passes_a_policy_without_warnings(tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, *arguments = shlex.split(hook["entry"])
    assert program == "restow"
    assert run([*arguments, str(ROOT / "examples/policies/default.yaml")]) == 0
    typo = tmp_path / "policy.yaml"
    typo.write_text("apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofile: []\n")
    assert run([*arguments, str(typo)]) != 0
