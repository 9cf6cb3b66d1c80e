"""Live migrations on a real control plane, by restow under its own account with the shipped rights; KubeVirt is played."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from builders import Object
from builders.policies import Policy
from e2e.control_plane import ControlPlane
from e2e.shipped import USER
from e2e.steered import PACK, PATIENCE, component, entries, fill_two_nodes, finished, gated, install
from e2e.virtual_machines import (
    LAUNCHER,
    MIGRATION,
    End,
    VirtController,
    forget_machine,
    install_kinds,
    start_machine,
)
from e2e.waiting import wait_until
from e2e.workloads import is_ready, pods_of

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def cluster(kustomize: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("migrating")) as plane:
        plane.add_nodes(5, cpu="4")
        install(plane)
        install_kinds(plane)
        for thing in component("migrating", "rights"):
            plane.admin.create(thing)
        yield plane


@contextmanager
def a_machine(cluster: ControlPlane) -> Iterator[str]:
    """Two nodes are half full; a virtual machine is alone on one of the others, whose name this is."""
    fill_two_nodes(cluster)
    with cluster.cordoned(["node-1", "node-2"]):
        start_machine(cluster.admin)
        wait_until("the launcher is ready", lambda: is_ready(launcher(cluster)), PATIENCE)
    cluster.audit.restart()
    try:
        yield launcher(cluster)["spec"]["nodeName"]
    finally:
        forget_machine(cluster.admin)
    assert gated(cluster) == []
    assert entries(cluster) == {}


def launcher(cluster: ControlPlane, name: str = LAUNCHER) -> Object:
    found: Object = cluster.admin.get("Pod", name)
    return found


def policy(**settings: object) -> Policy:
    return PACK | {"restow": {"steering": "nominate", "replacement": "surge", **settings}}


def evictions(cluster: ControlPlane) -> list[str]:
    return [call.object_ref.name for call in cluster.audit.calls("create", "pods", "eviction")]


def test_a_virtual_machine_moves_to_its_planned_node_and_nothing_is_evicted(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    with a_machine(cluster), VirtController(cluster) as kubevirt:
        log = finished(cluster, tmp_path, policy())

        assert launcher(cluster, "virt-launcher-vm-1")["spec"]["nodeName"] in ("node-1", "node-2")
        assert launcher(cluster)["status"]["phase"] == "Succeeded"
    assert kubevirt.ended == [LAUNCHER]
    (migration,) = kubevirt.heard.values()
    assert migration["metadata"]["labels"].keys() == {"restow.dev/migration"}
    assert evictions(cluster) == []
    assert "Evicted pod" in log
    assert [call for call in cluster.audit.calls(user=USER) if call.response_status.code == 403] == []


@pytest.mark.parametrize(
    ("end", "delay", "told"),
    [("Failed", "0s", "has failed: no progress"), ("never", "30s", "was not ready within 3s")],
    ids=["fails", "too slow"],
)
def test_the_machine_stays_where_it_is_if_the_migration(
    cluster: ControlPlane, tmp_path: Path, end: End, delay: str, told: str
) -> None:
    """What is too slow is aborted; what has failed stays for people to look at."""
    slow = {"annotations": {"test/ready-delay": delay}} if end == "never" else {}
    with a_machine(cluster) as place, VirtController(cluster, end, **slow) as kubevirt:
        log = finished(cluster, tmp_path, policy(waitForReady="3s" if end == "never" else "1m"))
        wait_until("the new launcher is gone", lambda: kubevirt.ended == ["virt-launcher-vm-1"], PATIENCE)

        assert [each["spec"]["nodeName"] for each in pods_of(cluster.admin, "vm")] == [place]
        assert is_ready(launcher(cluster))
        assert len(cluster.admin.items(MIGRATION, "default")) == (end == "Failed")
    assert told in log
    assert evictions(cluster) == []
