"""The component that lets restow fence nodes, as kustomize and the chart make it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from builders import Object
from e2e.control_plane import ControlPlane
from e2e.shipped import DEPLOY, kustomized, rendered, try_out

pytestmark = pytest.mark.e2e

NAME = "restow-fencing"


def fencing_of(objects: list[Object]) -> dict[str, Object]:
    """The objects of fencing by kind, without labels."""
    found = {each["kind"]: each for each in objects if each["metadata"]["name"] == NAME}
    for each in found.values():
        each["metadata"].pop("labels", None)
    return found


def fenced(tmp_path: Path, way: str, namespace: str = "kube-system") -> dict[str, Object]:
    """A way with the component, as docs/how-to/steer.md puts them together."""
    copy = tmp_path / "kubernetes"
    shutil.copytree(DEPLOY / "kubernetes", copy)
    layers = {
        "placed": {"namespace": namespace, "resources": [f"../{way}"]},
        "mine": {"resources": ["../placed"], "components": ["../without-standby", "../fencing"]},
    }
    for name, kustomization in layers.items():
        (copy / name).mkdir()
        (copy / name / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    return fencing_of(kustomized(copy / "mine"))


@pytest.mark.parametrize("way", ["job", "cronjob", "deployment"])
def test_the_component_is_accepted(plane: ControlPlane, tmp_path: Path, way: str) -> None:
    found = fenced(tmp_path, way)
    assert len(found) == 6
    assert {try_out(plane.admin, each).status for each in found.values()} == {201}


def test_it_is_in_the_namespace_of_the_account_and_holds_that_account(built: Path, tmp_path: Path) -> None:
    found = fenced(tmp_path, "deployment", "tools")
    assert "kube-system" not in json.dumps(list(found.values()))
    (held,) = found["ValidatingAdmissionPolicy"]["spec"]["matchConditions"]
    assert held["expression"] == "request.userInfo.username == 'system:serviceaccount:tools:restow'"


def test_the_chart_has_the_same_objects_and_only_where_they_are_asked_for(built: Path, tmp_path: Path) -> None:
    chart = rendered(kind="Deployment", fencing={"enabled": True})
    assert fencing_of(chart) == fenced(tmp_path, "deployment")
    assert fencing_of(rendered(kind="Deployment")) == {}
