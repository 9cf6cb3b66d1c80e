"""The operator's manifests as kustomize and the chart make them, and what the API server says to them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders import Object
from builders.kubedeschedulers import INSTALLED, OPENSHIFT, an_object
from e2e.binaries import tool
from e2e.control_plane import ControlPlane
from e2e.rest import name_of
from e2e.shipped import DEPLOY, kustomized, try_out
from restow.operator.desired import desired
from restow.operator.guards import ADMISSION, guards
from restow.operator.resource import NAMESPACE, resource_of

pytestmark = pytest.mark.e2e

CHART = DEPLOY / "helm" / "restow-operator"


def rendered(namespace: str = NAMESPACE, **values: Any) -> list[Object]:
    """The objects of the chart."""
    settings = [word for name, value in values.items() for word in ("--set-json", f"{name}={json.dumps(value)}")]
    command = [tool("helm"), "template", "mine", CHART, "--namespace", namespace, *settings]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return [each for each in yaml.safe_load_all(done.stdout) if each is not None]


def by_name(objects: list[Object]) -> dict[tuple[str, str], Object]:
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def container(objects: list[Object]) -> Any:
    (deployment,) = (each for each in objects if each["kind"] == "Deployment")
    (one,) = deployment["spec"]["template"]["spec"]["containers"]
    return one


def test_every_manifest_is_accepted(plane: ControlPlane, operators_namespace: str) -> None:
    objects = [each for each in kustomized(DEPLOY / "operator") if each["kind"] != "Namespace"]
    for each in objects:
        answer = try_out(plane.admin, each)
        assert answer.status == 201, (each["kind"], answer.body)


def test_every_object_of_a_soft_tainter_is_accepted(plane: ControlPlane, operators_namespace: str) -> None:
    thing = resource_of(an_object("KubeVirtRelieveAndMigrate", mode="Automatic"))
    made = desired(thing, OPENSHIFT, INSTALLED).objects
    assert "softtainter" in {name_of(each) for each in made}
    for each in made:
        if each["kind"] != "ServiceMonitor":
            assert try_out(plane.admin, each).status == 201, each["kind"]


def test_the_chart_has_the_objects_of_the_manifests(built: Path) -> None:
    manifests = by_name([each for each in kustomized(DEPLOY / "operator") if each["kind"] != "Namespace"])
    del manifests["CustomResourceDefinition", "kubedeschedulers.operator.openshift.io"]
    chart = by_name(rendered())
    ours = container(list(chart.values()))
    assert ours.pop("args") == ["operator", "-v=2"]
    assert container(list(manifests.values())).pop("args") == ["operator"]
    assert chart == manifests


def test_the_chart_goes_into_any_namespace_with_any_image(built: Path) -> None:
    objects = rendered("tools", image={"repository": "mine/restow", "tag": "2"}, prometheusURL="http://p:9090")
    assert NAMESPACE not in json.dumps(objects)
    assert "registry.example.com" not in json.dumps(objects)
    one = container(objects)
    assert one["image"] == "mine/restow:2"
    assert one["args"] == ["operator", "-v=2", "--prometheus-url=http://p:9090"]
    assert {each["value"] for each in one["env"] if "value" in each} == {"mine/restow:2"}
    # Else the operator would take its guards for others, and make no soft tainter.
    assert by_name([each for each in objects if each["apiVersion"] == ADMISSION]) == by_name(guards("tools"))


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public", "default"])
def test_the_chart_goes_into_no_namespace_whose_accounts_are_not_its_own(built: Path, namespace: str) -> None:
    """Its guards would hold the controllers of the cluster."""
    with pytest.raises(subprocess.CalledProcessError) as refused:
        rendered(namespace)
    assert f"into a namespace of its own, not into {namespace}" in refused.value.stderr


@pytest.fixture
def bundle(built: Path, tmp_path: Path) -> Path:
    """The bundle, as its Containerfile makes it."""
    try:
        tool("operator-verify")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    directory = DEPLOY / "operator"
    for line in (directory / "bundle" / "Containerfile").read_text().splitlines():
        if line.startswith("COPY "):
            *sources, target = line.split()[1:]
            into = tmp_path / target.strip("/")
            for each in sources:
                path = directory / each
                for file in path.iterdir() if path.is_dir() else (path,):
                    into.mkdir(exist_ok=True)
                    (into / file.name).write_text(file.read_text())
    return tmp_path


def judged(bundle: Path) -> list[str]:
    """What OLM's validators find wrong."""
    options = ["--operatorhub_validate", "--object_validate"]
    command = [tool("operator-verify"), "manifests", *options, bundle / "manifests"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return [line for line in done.stderr.splitlines() if "level=warning" not in line]


def test_olm_finds_nothing_wrong_with_the_bundle(bundle: Path) -> None:
    assert {each.name for each in (bundle / "manifests").iterdir()} >= {"crd.yaml", "service.yaml"}
    assert judged(bundle) == []


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("version: v1\n", "version: v9\n", "is present in bundle"),
        ("installModes:", "modes:", "install modes not found"),
        ("minKubeVersion: 1.30.0", "minKubeVersion: soon", "soon"),
    ],
)
def test_olm_would_find_it(bundle: Path, before: str, after: str, found: str) -> None:
    """What finds nothing above is not blind."""
    (version,) = (bundle / "manifests").glob("*.clusterserviceversion.yaml")
    assert before in version.read_text()
    version.write_text(version.read_text().replace(before, after))
    assert any(found in each for each in judged(bundle))


def test_the_chart_has_a_service_monitor_where_it_is_asked_for(built: Path) -> None:
    plain = by_name(rendered("tools"))
    monitored = by_name(rendered("tools", serviceMonitor={"enabled": True}))
    (added,) = monitored.keys() - plain.keys()
    assert added == ("ServiceMonitor", "descheduler-operator")
    assert monitored[added]["metadata"]["namespace"] == "tools"


def test_an_image_is_set_in_one_place(built: Path, tmp_path: Path) -> None:
    kustomization = yaml.safe_load((DEPLOY / "operator" / "kustomization.yaml").read_text())
    kustomization["images"][0]["newName"] = "mine/restow"
    for each in kustomization["resources"]:
        (tmp_path / each).write_text((DEPLOY / "operator" / each).read_text())
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    one = container(kustomized(tmp_path))
    assert {one["image"], *(each["value"] for each in one["env"] if "value" in each)} == {"mine/restow:0.1.0"}
