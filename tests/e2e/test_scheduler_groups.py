"""``restow scheduler`` and groups of pods, beside kube-scheduler with the feature gates that make it schedule them."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import Object, a_pod
from builders.cluster_objects import a_pod_group, in_group
from e2e.control_plane import ControlPlane
from e2e.schedulers import PATIENCE, Scheduler
from e2e.waiting import wait_until

pytestmark = pytest.mark.e2e

ALONE = "--leader-elect=false"
OURS, THEIRS = "my-scheduler", "default-scheduler"


def a_member(name: str, group: str, namespace: str, scheduler: str, *, cpu: str = "100m") -> Object:
    made = a_pod(name, namespace=namespace, cpu=cpu, spec=in_group(group) | {"schedulerName": scheduler})
    made["spec"]["containers"][0] |= {"name": "main", "image": "registry.example.com/app:1"}
    return made


def create_group(plane: ControlPlane, name: str, namespace: str, least: int) -> None:
    made = a_pod_group(name, namespace=namespace, least=least)
    plane.admin.create(made | {"apiVersion": "scheduling.k8s.io/v1alpha2"})


def told(plane: ControlPlane, kind: str, namespace: str, name: str) -> tuple[str, str, str]:
    """Status, reason and message of what is said of the scheduling of a pod or a group, as soon as something is."""

    def said() -> Object | None:
        conditions = plane.admin.get(kind, name, namespace).get("status", {}).get("conditions", ())
        return next((each for each in conditions if each["type"] in ("PodScheduled", "PodGroupScheduled")), None)

    found = wait_until(f"something is said of {kind} {name}", said, PATIENCE)
    assert found is not None
    return found["status"], found.get("reason", ""), found.get("message", "")


def node_of(plane: ControlPlane, namespace: str, name: str) -> str:
    node: str = plane.admin.get("Pod", name, namespace)["spec"].get("nodeName", "")
    return node


def test_a_gang_gets_its_nodes_once_it_has_enough_pods(plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    create_group(plane, "gang", namespace, 3)
    with Scheduler(tmp_path, plane.kubeconfig, ALONE) as scheduler:
        for name in ("one", "two"):
            plane.admin.create(a_member(name, "gang", namespace, OURS))
        wait_until(
            "both pods are held back",
            lambda: scheduler.samples().total("scheduler_pending_pods", queue="gated") == 2,
            PATIENCE,
        )
        assert not any(node_of(plane, namespace, name) for name in ("one", "two"))
        plane.admin.create(a_member("three", "gang", namespace, OURS))
        for name in ("one", "two", "three"):
            assert told(plane, "Pod", namespace, name)[0] == "True"
        assert told(plane, "PodGroup", namespace, "gang")[:2] == ("True", "Scheduled")


def test_a_gang_that_does_not_fit_is_told_so_in_kube_schedulers_words(
    plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    with Scheduler(tmp_path, plane.kubeconfig, ALONE):
        for group, scheduler in (("ours", OURS), ("theirs", THEIRS)):
            create_group(plane, group, namespace, 2)
            plane.admin.create(a_member(f"{group}-small", group, namespace, scheduler))
            plane.admin.create(a_member(f"{group}-large", group, namespace, scheduler, cpu="900"))
        for part in ("small", "large"):
            ours, theirs = (told(plane, "Pod", namespace, f"{group}-{part}") for group in ("ours", "theirs"))
            assert ours == theirs
            assert ours[0] == "False"
        assert told(plane, "PodGroup", namespace, "ours") == told(plane, "PodGroup", namespace, "theirs")
        assert not any(node_of(plane, namespace, f"{group}-small") for group in ("ours", "theirs"))
