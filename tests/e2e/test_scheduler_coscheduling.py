"""``restow scheduler`` with Coscheduling, beside the scheduler that the plugin's own project builds.

That one is built with ``make oracle MINORS=1.33``; without it the comparison is skipped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from builders import Object, a_pod
from builders.cluster_objects import a_coscheduled_group
from e2e.child import Child
from e2e.control_plane import ControlPlane
from e2e.kinds import collection
from e2e.schedulers import PATIENCE, Scheduler
from e2e.waiting import wait_until
from restow.cluster.pod_values import POD_GROUP_LABEL
from restow.scheduling.framework.coscheduled_groups import KIND

pytestmark = pytest.mark.e2e

GROUP, PLURAL = "scheduling.x-k8s.io", "podgroups"
THEIR_PROGRAM = Path(__file__).resolve().parents[2] / "build" / "oracle" / "coscheduling"
OURS, THEIRS = "our-scheduler", "their-scheduler"
#: By name: how many pods a group needs, and what the CPUs of its pods are. A node has four.
CASES = {
    "fits": (3, (1, 1, 1)),
    "beyond": (2, (2, 2, 2)),
    "small": (3, (3, 3, 3)),
    "large": (3, (9, 1, 1, 1)),
    "few": (4, (1, 1, 1)),
}
#: How many pods of each are bound to one node that they have for themselves.
BOUND = {"fits": 3, "beyond": 2, "small": 0, "large": 3, "few": 0}


def the_kind() -> Object:
    """The CustomResourceDefinition of PodGroups, which takes any spec."""
    spec = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec, "status": spec}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "PodGroup", "plural": PLURAL, "singular": "podgroup", "listKind": "PodGroupList"}
    approval = {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}", "annotations": approval},
        "spec": {"group": GROUP, "names": names, "scope": "Namespaced", "versions": [version]},
    }


@pytest.fixture(scope="module")
def plane(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A node of four CPUs for each group of either scheduler, and one more."""
    with ControlPlane(tmp_path_factory.mktemp("coscheduling")) as plane:
        plane.add_nodes(2 * len(CASES) + 1, cpu="4")
        plane.admin.create(the_kind())
        wait_until(
            "PodGroups are served", lambda: plane.admin.ask("GET", collection(KIND, None)).status == 200, PATIENCE
        )
        yield plane


def a_configuration(name: str, kubeconfig: Path | None = None) -> Object:
    """A KubeSchedulerConfiguration of one profile with Coscheduling."""
    plugins = {"multiPoint": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "PrioritySort"}]}}
    connection = {} if kubeconfig is None else {"clientConnection": {"kubeconfig": str(kubeconfig)}}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": name, "plugins": plugins}],
        **connection,
    }


def a_member(name: str, group: str, scheduler: str, node: str, *, cpu: str = "1") -> Object:
    spec = {"schedulerName": scheduler, "nodeSelector": {"kubernetes.io/hostname": node}}
    made = a_pod(name, labels={POD_GROUP_LABEL: group}, cpu=cpu, spec=spec)
    made["spec"]["containers"][0] |= {"name": "main", "image": "registry.example.com/app:1"}
    return made


@contextmanager
def ours(plane: ControlPlane, directory: Path) -> Iterator[Scheduler]:
    config = directory / "ours.json"
    config.write_text(json.dumps(a_configuration(OURS)))
    with Scheduler(directory, plane.kubeconfig, f"--config={config}") as scheduler:
        yield scheduler


@contextmanager
def theirs(plane: ControlPlane, directory: Path) -> Iterator[None]:
    config = directory / "theirs.json"
    config.write_text(json.dumps(a_configuration(THEIRS, plane.kubeconfig)))
    child = Child([str(THEIR_PROGRAM), f"--config={config}", "--secure-port=0"], directory / "theirs.log")
    child.start()
    try:
        yield
    finally:
        child.kill()


def bound(plane: ControlPlane) -> Counter[str]:
    """How many pods of each group have a node."""
    found = [each for each in plane.admin.items("Pod") if POD_GROUP_LABEL in each["metadata"].get("labels", {})]
    return Counter(each["metadata"]["labels"][POD_GROUP_LABEL] for each in found if each["spec"].get("nodeName"))


def bound_besides(plane: ControlPlane) -> dict[str, int]:
    """The same without the group of the other test."""
    return {group: count for group, count in bound(plane).items() if group != "late"}


def wait_for(plane: ControlPlane, expected: dict[str, int]) -> None:
    """Until exactly these pods are bound."""
    try:
        wait_until("the same pods are bound", lambda: bound_besides(plane) == expected, PATIENCE)
    except TimeoutError:
        assert bound_besides(plane) == expected


def told(plane: ControlPlane, name: str) -> str:
    """What a pod is told that has no node, once it is told something."""

    def said() -> str:
        conditions = plane.admin.get("Pod", name).get("status", {}).get("conditions", ())
        return next((each["message"] for each in conditions if each["type"] == "PodScheduled"), "")

    return wait_until(f"something is said of {name}", said, PATIENCE)


def test_a_group_is_bound_once_it_has_enough_pods(plane: ControlPlane, tmp_path: Path) -> None:
    node = f"node-{2 * len(CASES) + 1}"
    plane.admin.create(a_coscheduled_group("late", 3))
    with ours(plane, tmp_path):
        for name in ("late-0", "late-1"):
            plane.admin.create(a_member(name, "late", OURS, node))
        assert "current pods number: " in told(plane, "late-1")
        assert bound(plane)["late"] == 0
        plane.admin.create(a_member("late-2", "late", OURS, node))
        wait_until("all three are bound", lambda: bound(plane)["late"] == 3, PATIENCE)


def test_the_same_groups_are_bound_as_by_the_plugin_itself(plane: ControlPlane, tmp_path: Path) -> None:
    """The last group comes last; once it is refused, the others had their turns."""
    if not THEIR_PROGRAM.exists():
        pytest.skip("build/oracle/coscheduling is not built: make oracle MINORS=1.33")
    nodes = iter(f"node-{number}" for number in range(1, 2 * len(CASES) + 1))
    with ours(plane, tmp_path), theirs(plane, tmp_path):
        for side, scheduler in (("ours", OURS), ("theirs", THEIRS)):
            for case, (least, cpus) in CASES.items():
                node, group = next(nodes), f"{side}-{case}"
                plane.admin.create(a_coscheduled_group(group, least))
                plane.admin.create_all(
                    [a_member(f"{group}-{at}", group, scheduler, node, cpu=str(cpu)) for at, cpu in enumerate(cpus)]
                )
        expected = {f"{side}-{case}": count for side in ("ours", "theirs") for case, count in BOUND.items() if count}
        wait_for(plane, expected)
        for case in ("few", "large", "beyond"):
            said = [refusals(plane, side, case) for side in ("ours", "theirs")]
            assert said[0] == said[1], case
    assert bound_besides(plane) == expected


def refusals(plane: ControlPlane, side: str, case: str) -> set[str]:
    """What the pods of a group are told that have no node, without their names and what follows about preemption.

    That differs between the minors of the two. Which pods these are may differ, too.
    """
    pods = [each for each in plane.admin.items("Pod") if each["metadata"]["name"].startswith(f"{side}-{case}-")]
    names = [each["metadata"]["name"] for each in pods if not each["spec"].get("nodeName")]
    said = (told(plane, name).replace(name, "it") for name in names)
    return {each.partition(" preemption: ")[0].partition(" no new claims")[0] for each in said}
