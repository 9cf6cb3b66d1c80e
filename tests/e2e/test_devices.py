"""Pods with claims of devices, moved on a real control plane: the real scheduler gives them what the plan has found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import Object
from builders.devices import a_claim_template, a_device, a_device_class, a_request, a_slice, exactly, uses
from e2e.control_plane import ControlPlane
from e2e.test_apply import HOME, PATIENCE, applied, planned, restow
from e2e.waiting import wait_until
from e2e.workloads import deployment, pods_of, wait_for_ready

pytestmark = pytest.mark.e2e

DRIVER = "gpu.example.com"
RESOURCE = "example.com/gpu"
TRAIN = "train"
IS_HOME = "home-train"
CLAIMED = {"resource.kubernetes.io/extended-resource-claim": "true"}


@pytest.fixture(scope="module")
def plane_with_devices(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Three nodes: two with two devices each, and one with none between them."""
    with ControlPlane(tmp_path_factory.mktemp("devices")) as plane:
        plane.add_nodes(3, cpu="4")
        devices = [a_device(f"gpu-{at}", {"model": "a100", "index": at}, {"memory": "40Gi"}) for at in range(2)]
        slices = [a_slice(f"gpus-{node}", devices, driver=DRIVER, node=node) for node in ("node-1", "node-3")]
        request = a_request("gpu", "gpu", f'device.attributes["{DRIVER}"].model == "a100"')
        classes = [a_device_class("gpu", f'device.driver == "{DRIVER}"', extendedResourceName=RESOURCE)]
        plane.admin.create_all([*slices, *classes, a_claim_template("one-gpu", exactly(request))])
        yield plane


@pytest.fixture
def plane(plane_with_devices: ControlPlane) -> Iterator[ControlPlane]:
    yield plane_with_devices
    plane_with_devices.clear("default", timeout=PATIENCE)
    wait_until("no claim is left", lambda: not plane_with_devices.admin.items("ResourceClaim", "default"), PATIENCE)


def live_on(plane: ControlPlane, *nodes: str) -> None:
    """Only these nodes are home to the pods, from now on."""
    for node in ("node-1", "node-2", "node-3"):
        label = "yes" if node in nodes else None
        plane.admin.patch("Node", node, {"metadata": {"labels": {IS_HOME: label}}})


def a_workload(replicas: int) -> Object:
    return at_home(deployment(TRAIN, replicas, spec={"resourceClaims": [uses("gpu", template="one-gpu")]}))


def at_home(made: Object) -> Object:
    """The Deployment, whose pods run on nodes that are home to them."""
    home = {"matchExpressions": [{"key": IS_HOME, "operator": "In", "values": ["yes"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [home]}}
    made["spec"]["template"]["spec"]["affinity"] = {"nodeAffinity": required}
    return made


def devices(plane: ControlPlane) -> list[str]:
    """What the claims of the running pods have."""
    claims = {each["metadata"]["name"]: each for each in plane.admin.items("ResourceClaim", "default")}
    used = [
        each["resourceClaimName"]
        for pod in pods_of(plane.admin, TRAIN)
        for each in pod["status"]["resourceClaimStatuses"]
    ]
    got = [claims[name]["status"]["allocation"]["devices"]["results"] for name in used]
    return sorted(f"{each['pool']}/{each['device']}" for results in got for each in results)


def move_where_devices_are(plane: ControlPlane, tmp_path: Path) -> None:
    """Two pods have to leave node-1; node-2 and node-3 fit otherwise, and the plan names the one with devices."""
    live_on(plane, "node-2", "node-3")
    plan = planned(plane, tmp_path, HOME)
    assert [each["to"] for each in plan["moves"]] == ["node-3", "node-3"]
    status, result = applied(plane, tmp_path)
    assert (status, [each["result"] for each in result["moves"]]) == (0, ["moved", "moved"])
    wait_for_ready(plane.admin, TRAIN, 2, timeout=PATIENCE)


def test_pods_move_to_the_node_that_has_devices_left(plane: ControlPlane, tmp_path: Path) -> None:
    """The scheduler gives each pod a device of its own."""
    live_on(plane, "node-1")
    plane.admin.create(a_workload(2))
    wait_for_ready(plane.admin, TRAIN, 2, timeout=PATIENCE)
    assert devices(plane) == ["node-1/gpu-0", "node-1/gpu-1"]
    move_where_devices_are(plane, tmp_path)
    assert devices(plane) == ["node-3/gpu-0", "node-3/gpu-1"]


def test_a_pod_stays_where_no_device_is_left_elsewhere(plane: ControlPlane, tmp_path: Path) -> None:
    """Evicted all the same, it would wait: nobody else has what it claims."""
    live_on(plane, "node-1")
    plane.admin.create(a_workload(1))
    wait_for_ready(plane.admin, TRAIN, 1, timeout=PATIENCE)
    live_on(plane, "node-2")
    plan = planned(plane, tmp_path, HOME)
    assert plan["moves"] == []
    assert [each["code"] for each in plan["refusals"]] == ["NoFit"]
    told = restow(plane, tmp_path, "explain", "pod", f"default/{plan['refusals'][0]['pod']['name']}", "-o", "json")
    assert "cannot allocate all claims" in json.dumps(json.loads(told.stdout))


def test_pods_that_request_what_a_class_serves_move_as_those_with_claims_do(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """No node lists the resource: the scheduler makes the claims."""
    made = at_home(deployment(TRAIN, 2))
    (container,) = made["spec"]["template"]["spec"]["containers"]
    amounts = container.setdefault("resources", {})
    for each in ("requests", "limits"):
        amounts[each] = {**amounts.get(each, {}), RESOURCE: "1"}
    live_on(plane, "node-1")
    plane.admin.create(made)
    wait_for_ready(plane.admin, TRAIN, 2, timeout=PATIENCE)
    claims = plane.admin.items("ResourceClaim", "default")
    assert [each["metadata"]["annotations"] for each in claims] == [CLAIMED, CLAIMED]
    move_where_devices_are(plane, tmp_path)
    assert {pod["spec"]["nodeName"] for pod in pods_of(plane.admin, TRAIN)} == {"node-3"}
