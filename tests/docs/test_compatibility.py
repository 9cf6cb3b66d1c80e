"""The page about compatibility says what the code, the packages and the manifests say."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from restow.kube.objects import API_VERSIONS
from restow.scheduling.loop.unmodelled import MODELLED, other_scores

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/compatibility.md").read_text()


def test_the_modelled_version_and_those_whose_scores_differ_are_as_the_code_says() -> None:
    assert f"kube-scheduler 1.{MODELLED}," in PAGE
    assert f"| **1.{MODELLED}** |" in PAGE
    first, last = map(int, re.findall(r"\| 1\.(\d+) to 1\.(\d+) \| the same \|", PAGE)[0])
    assert last == MODELLED - 1
    assert all("NodeResourcesBalancedAllocation" in other_scores(minor) for minor in range(first, last + 1))


def test_the_versions_of_python_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [each.rpartition(" :: ")[2] for each in project["classifiers"] if re.search(r"Python :: 3\.\d+$", each)]
    assert f"{', '.join(named[:-1])} and {named[-1]}." in PAGE
    assert f"The container image has {_python_of_the_image()}." in PAGE


def _python_of_the_image() -> str:
    (found,) = set(re.findall(r"python:(3\.\d+)", (ROOT / "deploy/Containerfile").read_text()))
    return found


@pytest.mark.parametrize("kind", ["VerticalPodAutoscaler", "VirtualMachineInstanceMigration"])
def test_the_versions_of_other_programs_kinds_are_those_that_are_read(kind: str) -> None:
    assert f"`{API_VERSIONS[kind]}`" in PAGE
