"""What replacements that come first need: the same objects in the components and in the chart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from builders import Object
from e2e.shipped import DEPLOY, kustomized, rendered

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("kustomize", "built")]

_SURGING = ("restow-surging", "restow-surging-rollouts", "restow-surging-pods")


@pytest.mark.parametrize(
    ("component", "names", "count"),
    [
        ("surging", _SURGING, 8),
        ("reserving", ("restow-reserving", "restow-placeholder"), 7),
        ("migrating", ("restow-migrating",), 2),
    ],
)
def test_the_chart_has_the_objects_of_the_component_for_the_account_that_it_runs_as(
    tmp_path: Path, component: str, names: tuple[str, ...], count: int
) -> None:
    shutil.copytree(DEPLOY / "kubernetes", tmp_path / "kubernetes")
    mine = tmp_path / "kubernetes" / "mine"
    mine.mkdir()
    (mine / "kustomization.yaml").write_text(f"resources: [../deployment]\ncomponents: [../{component}]\n")
    shipped = _named(kustomized(mine), names)
    assert len(shipped) == count
    assert _named(rendered(kind="Deployment", **{component: {"enabled": True}}), names) == shipped
    assert _named(rendered(kind="Deployment"), names) == {}


def _named(objects: list[Object], names: tuple[str, ...]) -> dict[tuple[str, str], Object]:
    """The objects of these names by kind and name, without labels."""
    found = {(each["kind"], each["metadata"]["name"]): each for each in objects if each["metadata"]["name"] in names}
    for each in found.values():
        each["metadata"].pop("labels", None)
    return found
