"""``restow explain node --drain`` of a live cluster, and then the real ``kubectl drain``."""

from __future__ import annotations

import subprocess

import pytest

from builders import Object
from e2e.binaries import binaries
from e2e.control_plane import ControlPlane
from e2e.fake_nodes import a_fake_node
from e2e.rest import name_of
from e2e.workloads import budget, daemon_set, deployment, pods_of, replica_set, wait_for_ready
from restow.application.clusters import ClusterSource
from restow.application.draining import DrainRequest, drained
from restow.application.feedback import Collected
from restow.reporting.drain_result import NodeDrain

pytestmark = pytest.mark.e2e

_OWN = "test/drain"


def _node(namespace: str, number: int, cpu: str = "4") -> Object:
    """A node that only the pods of this test may use."""
    name = f"{namespace}-{number}"
    return a_fake_node(name, cpu=cpu, labels={_OWN: namespace}, taints=[f"{_OWN}={namespace}:NoSchedule"])


@pytest.fixture
def forecast(plane: ControlPlane, namespace: str) -> NodeDrain:
    """Two nodes, all pods on the first; a budget lets one pod at a time go, another none, and one pod finds no room."""
    own = {"node_selector": {_OWN: namespace}, "tolerations": [{"key": _OWN, "operator": "Exists"}]}
    first, second = _node(namespace, 1), _node(namespace, 2, cpu="2")
    plane.admin.create(first)
    plane.wait_for_nodes([name_of(first)])
    for each in (
        deployment("web", 3, namespace=namespace, cpu="200m", **own),
        budget("web", "web", namespace=namespace, max_unavailable=1),
        deployment("db", 1, namespace=namespace, **own),
        budget("db", "db", namespace=namespace, min_available=1),
        replica_set("large", 1, namespace=namespace, cpu="1960m", **own),
        daemon_set("agent", namespace=namespace, cpu="50m", **own),
    ):
        plane.admin.create(each)
    for app, count in (("web", 3), ("db", 1), ("large", 1), ("agent", 1)):
        wait_for_ready(plane.admin, app, count, namespace)
    plane.admin.create(second)
    plane.wait_for_nodes([name_of(second)])
    wait_for_ready(plane.admin, "agent", 2, namespace)
    return drained(DrainRequest(ClusterSource(kubeconfig=str(plane.kubeconfig)), name_of(first)), Collected())


def test_a_real_drain_goes_as_it_was_told(plane: ControlPlane, namespace: str, forecast: NodeDrain) -> None:
    node = f"{namespace}-1"
    flags = ("--ignore-daemonsets", "--force", "--delete-emptydir-data", "--timeout=40s")
    command = [str(binaries() / "kubectl"), f"--kubeconfig={plane.kubeconfig}", "drain", node, *flags]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)

    assert ran.returncode != 0
    left = {f"{namespace}/{name_of(each)}": each for each in plane.admin.items("Pod", namespace)}
    still_there = {name for name, each in left.items() if each["spec"].get("nodeName") == node}
    assert {each.pod for each in forecast.staying} == still_there
    assert [each.pod.partition("/")[2][:3] for each in forecast.refused] == ["db-"]
    landed = sorted((each["metadata"]["labels"]["app"], each["spec"].get("nodeName", "")) for each in left.values())
    told = sorted((each.workload.rpartition("/")[2], each.to) for each in forecast.pods)
    assert [each for each in landed if each[0] in ("web", "large")] == told
    assert [each.outcome for each in forecast.pods].count("waiting") == 1
    assert len(pods_of(plane.admin, "web", namespace)) == 3
    for name in (node, f"{namespace}-2"):
        plane.admin.delete("Node", name)
