"""NodeResourceTopologies on a real control plane: plans go by what they say of NUMA nodes, and watch them change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import Object
from e2e.control_plane import ControlPlane
from e2e.kinds import collection
from e2e.schedulers import Scheduler
from e2e.test_apply import HOME, PATIENCE, applied, planned
from e2e.test_devices import at_home, live_on
from e2e.waiting import wait_until
from e2e.workloads import deployment, pods_of, wait_for_ready
from scheduling.numa.numa_nodes import a_topology_object, a_zone

pytestmark = pytest.mark.e2e

KIND, PLURAL, GROUP = "NodeResourceTopology", "noderesourcetopologies", "topology.node.k8s.io"
APP = "train"


def the_kind() -> Object:
    """The CustomResourceDefinition, which takes any zones and attributes."""
    fields = {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    schema = {"type": "object", "properties": {"attributes": fields, "zones": fields}}
    version = {"name": "v1alpha2", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": KIND, "plural": PLURAL, "singular": KIND.lower(), "listKind": f"{KIND}List"}
    # The API server protects groups of Kubernetes: who defines a kind there names the approval.
    approval = {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/1870"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}", "annotations": approval},
        "spec": {"group": GROUP, "names": names, "scope": "Cluster", "versions": [version]},
    }


@pytest.fixture(scope="module")
def plane(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Four nodes; the second and the third have two NUMA nodes of four CPUs each, the fourth says nothing of its own."""
    with ControlPlane(tmp_path_factory.mktemp("numa")) as plane:
        plane.add_nodes(4, cpu="8")
        plane.admin.create(the_kind())
        made = [a_topology_object(f"node-{at}", {"cpu": (4, 4)}, {"cpu": (4, 4)}) for at in (2, 3)]
        wait_until(
            "topologies are served", lambda: plane.admin.ask("GET", collection(KIND, None)).status == 200, PATIENCE
        )
        plane.admin.create_all(made)
        yield plane


def a_workload(name: str, cpus: int) -> Object:
    """One pod with so many CPUs of its own."""
    made = at_home(deployment(name, 1))
    (container,) = made["spec"]["template"]["spec"]["containers"]
    amounts = {"cpu": str(cpus), "memory": "1Mi"}
    container["resources"] = {"requests": amounts, "limits": amounts}
    return made


def free(plane: ControlPlane, node: str, *cpus: int) -> None:
    """What an exporter says of a node from now on: so many CPUs of each NUMA node are free."""
    told = a_topology_object(node, *({"cpu": (4, each)} for each in cpus))
    plane.admin.patch(KIND, node, {"zones": told["zones"]})


def app_of(entry: Object) -> str:
    name: str = entry["pod"]["name"]
    return name.partition("-")[0]


def refusals(plan: Object) -> dict[str, tuple[str, str]]:
    """Code and message by app."""
    return {app_of(each): (each["code"], each["message"]) for each in plan["refusals"]}


def test_pods_go_where_their_kubelet_would_take_them(plane: ControlPlane, tmp_path: Path) -> None:
    """A pod of six CPUs and one of two have to leave node-1; no NUMA node has six."""
    live_on(plane, "node-1")
    plane.admin.create_all([a_workload("large", 6), a_workload(APP, 2)])
    for app in (APP, "large"):
        wait_for_ready(plane.admin, app, 1, timeout=PATIENCE)
    live_on(plane, "node-2")
    plan = planned(plane, tmp_path, HOME)
    assert list(map(app_of, plan["moves"])) == [APP]
    why = "it wants 6 CPUs aligned, which takes 2 NUMA nodes, and single-numa-node allows one"
    assert refusals(plan) == {"large": ("NotAligned", f"the kubelet of node-2 refuses it: {why}")}
    status, result = applied(plane, tmp_path)
    assert (status, [each["result"] for each in result["moves"]]) == (0, ["moved"])
    assert [pod["spec"]["nodeName"] for pod in pods_of(plane.admin, APP)] == ["node-2"]

    # Nobody has the two CPUs of node-3 that are said to be taken.
    live_on(plane, "node-3")
    free(plane, "node-3", 4, 2)
    code, message = refusals(planned(plane, tmp_path, HOME))[APP]
    assert (code, "the pods on it do not agree about cpu" in message) == ("NotCertain", True)
    free(plane, "node-3", 4, 4)
    assert [(app_of(each), each["to"]) for each in planned(plane, tmp_path, HOME)["moves"]] == [(APP, "node-3")]


def test_a_scheduler_that_matches_topologies_waits_for_one_that_fits(plane: ControlPlane, tmp_path: Path) -> None:
    """Of NUMA nodes with one free CPU each, none has two; once an exporter says that four are free, the pod is bound."""
    zones = [a_zone(f"node-{at}", {"cpu": (4, 1), "memory": ("4Gi", "4Gi")}) for at in range(2)]
    plane.admin.create(a_topology_object("node-4", zones=zones))
    config = tmp_path / "numa.yaml"
    config.write_text(json.dumps(a_configuration("numa")))
    made = a_workload("matched", 2)
    made["spec"]["template"]["spec"] |= {
        "schedulerName": "numa",
        "nodeSelector": {"kubernetes.io/hostname": "node-4"},
        "affinity": {},
    }
    plane.admin.create(made)
    with Scheduler(tmp_path, plane.kubeconfig, "--leader-elect=false", f"--config={config}") as scheduler:
        scheduler.wait_for_line("cannot align container")
        for zone in zones:
            zone["resources"][0]["available"] = "4"
        plane.admin.patch(KIND, "node-4", {"zones": zones})
        (pod,) = wait_for_ready(plane.admin, "matched", 1, timeout=PATIENCE)
    assert pod["spec"]["nodeName"] == "node-4"


def a_configuration(name: str) -> Object:
    """A KubeSchedulerConfiguration of one profile with NodeResourceTopologyMatch."""
    profile = {"schedulerName": name, "plugins": {"multiPoint": {"enabled": [{"name": "NodeResourceTopologyMatch"}]}}}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": [profile],
    }
