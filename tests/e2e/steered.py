"""A control plane on which replacements are steered, with the objects that are shipped for that, and what to look at there."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from builders import Object
from builders.policies import Policy, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.running import Descheduler
from e2e.shipped import DEPLOY, NAMESPACE, kubeconfig_of_restow, kustomized, rights
from e2e.workloads import deployment, pods_of, wait_for_ready

#: Everything leaves the nodes that are used by less than a fifth; the stock scheduler would put it right back.
PACK = strategy_policy("HighNodeUtilization", {"thresholds": {"cpu": 20}})
#: Seconds, on busy cores.
PATIENCE = 120.0
CONFIG_MAP = {"name": "restow-steering", "namespace": NAMESPACE}
#: Lines of restow's log: before the first steered cycle, and at the end of each.
STEERED, DONE = "replacements are steered", "Number of evictions/requests"

_ONCE = ("--descheduling-interval=1h", "--v=3")


def install(plane: ControlPlane) -> None:
    """restow's account with all rights, and what steering needs."""
    for thing in (*rights(kustomized(DEPLOY / "kubernetes" / "deployment")), *shipped()):
        plane.admin.create(thing)


def shipped() -> list[Object]:
    return component("steering", "config-map", "gating", "guarding", "rights")


def shipped_for_fences() -> list[Object]:
    """What restow needs to fence nodes, beside its account."""
    return component("fencing", "guarding", "rights")


def component(name: str, *files: str) -> list[Object]:
    """The objects of some files of a kustomize component."""
    texts = ((DEPLOY / "kubernetes" / name / f"{file}.yaml").read_text() for file in files)
    return [thing for text in texts for thing in yaml.safe_load_all(text)]


def fill_two_nodes(cluster: ControlPlane) -> None:
    """Two of five nodes are half full, and the three others empty."""
    cluster.clear("default")
    with cluster.cordoned(["node-3", "node-4", "node-5"]):
        cluster.admin.create(deployment("base", 4, cpu="1"))
        wait_for_ready(cluster.admin, "base", 4, timeout=PATIENCE)


@contextmanager
def spread_out(cluster: ControlPlane, workload: Object) -> Iterator[ControlPlane]:
    """Two nodes are half full, and the replicas of a workload are alone on the three others; in the end nothing waits."""
    fill_two_nodes(cluster)
    with cluster.cordoned(["node-1", "node-2"]):
        cluster.admin.create(workload)
        replicas = workload["spec"]["replicas"]
        wait_for_ready(cluster.admin, workload["metadata"]["name"], replicas, timeout=PATIENCE + replicas)
    yield cluster
    assert gated(cluster) == []
    assert entries(cluster) == {}


def running(cluster: ControlPlane, directory: Path, by: Policy) -> Descheduler:
    """A restow under its own account, which makes one cycle."""
    return Descheduler(directory, policy=by, kubeconfig=kubeconfig_of_restow(cluster), flags=_ONCE)


def finished(cluster: ControlPlane, directory: Path, by: Policy) -> str:
    """The log of a restow that has made one cycle."""
    with running(cluster, directory, by) as process:
        process.wait_for_line(DONE)
        process.send(signal.SIGTERM)
        assert process.wait() == 0
        return "\n".join(process.lines())


def web() -> Object:
    """Six replicas that fit anywhere."""
    return deployment("web", 6, cpu="100m")


def nodes_of(cluster: ControlPlane, app: str) -> Counter[str]:
    """How many pods of an app are on each node."""
    return Counter(pod["spec"].get("nodeName", "") for pod in pods_of(cluster.admin, app))


def gated(cluster: ControlPlane) -> list[str]:
    pods = cluster.admin.items("Pod", "default")
    return [each["metadata"]["name"] for each in pods if each["spec"].get("schedulingGates")]


def entries(cluster: ControlPlane) -> Object:
    found: Object = cluster.admin.get("ConfigMap", "restow-steering", NAMESPACE).get("data") or {}
    return found
