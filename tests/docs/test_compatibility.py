"""The page about compatibility says what the code, the packages and the manifests say."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from restow.kube.objects import API_VERSIONS
from restow.scheduling.framework.minors import ASSUMED, CHANGES, FOLLOWED

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/compatibility.md").read_text()
VERSIONS = (ROOT / "docs/reference/scheduler-versions.md").read_text()


def test_the_minors_whose_rules_are_known_are_as_the_code_says() -> None:
    first, last = FOLLOWED[0], FOLLOWED[-1]
    assert f"| 1.{first} to 1.{last} | its own version |" in PAGE
    assert f"| 1.{first - 1} and older | 1.{first} |" in PAGE
    assert f"| 1.{last + 1} and newer | 1.{last} |" in PAGE
    assert f"A dump names no version. 1.{ASSUMED} is assumed" in VERSIONS


def test_the_table_of_changes_is_the_codes() -> None:
    rows = [f"| 1.{each.since} | {each.plugin} | {each.what} |" for each in CHANGES]
    assert "\n".join(rows) in VERSIONS


def test_the_versions_of_python_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [each.rpartition(" :: ")[2] for each in project["classifiers"] if re.search(r"Python :: 3\.\d+$", each)]
    assert f"{', '.join(named[:-1])} and {named[-1]}." in PAGE
    assert f"The container image has {_python_of_the_image()}." in PAGE


def _python_of_the_image() -> str:
    (found,) = set(re.findall(r"python:(3\.\d+)", (ROOT / "deploy/Containerfile").read_text()))
    return found


@pytest.mark.parametrize("kind", ["VerticalPodAutoscaler", "NodeResourceTopology", "VirtualMachineInstanceMigration"])
def test_the_versions_of_other_programs_kinds_are_those_that_are_read(kind: str) -> None:
    assert f"`{API_VERSIONS[kind]}`" in PAGE
