"""What changes that a scheduler sees mean to the pods that wait."""

from __future__ import annotations

import msgspec
import pytest

from builders import a_node
from restow.cluster.node_store import read_node
from restow.kube.objects import Node
from restow.scheduling.cycle.cycle import ClusterChanges, ObjectChange, PodChange, PodSnapshot
from restow.scheduling.framework.requeueing import PodFacts


def seen(is_over=False, **facts):
    return PodSnapshot.of(PodFacts(uid="p", **facts), {"default-scheduler"}, is_over=is_over)


def pod_change(before, after):
    return ClusterChanges(pods=[PodChange(before, after)])


def labels(changes):
    return [(event.label, event.at_most_priority) for event in changes.events()]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(seen(), seen(node="n"), [("AssignedPodAdd", None)], id="bound"),
        pytest.param(seen(node="n"), seen(), [("AssignedPodDelete", None)], id="forgotten"),
        pytest.param(seen(node="n"), seen(node="n", is_over=True), [("AssignedPodDelete", None)], id="over"),
        pytest.param(seen(), seen(labels={"a": "b"}), [], id="a-waiting-pod-is-no-news-to-others"),
        pytest.param(seen(), None, [], id="a-waiting-pod-that-goes-is-none-either"),
        pytest.param(
            seen(nominated_node="n", priority=3), seen(priority=3), [("AssignedPodDelete", 3)], id="nomination-given-up"
        ),
        pytest.param(seen(nominated_node="n", priority=3), None, [("AssignedPodDelete", 3)], id="nominated-and-gone"),
    ],
)
def test_pods(before, after, expected):
    assert labels(pod_change(before, after)) == expected


def test_nodes_and_other_objects():
    old, new = (
        read_node(msgspec.convert(a_node("n", cpu=cpu, ready=ready), Node))
        for cpu, ready in (("1", False), ("2", True))
    )
    changes = ClusterChanges(
        objects=[
            ObjectChange("Node", ("", "n"), None, old),
            ObjectChange("Node", ("", "n"), old, new),
            ObjectChange("StorageClass", ("", "c"), None, object()),
            ObjectChange("Service", ("default", "s"), None, object()),
        ]
    )
    assert [label for label, _ in labels(changes)] == [
        "NodeAdd",
        "NodeUpdateNodeAllocatable",
        "NodeUpdateNodeCondition",
        "storage.k8s.io/StorageClassAdd",
    ]


@pytest.mark.parametrize(
    ("pod", "expected"),
    [(seen(), True), (seen(node="n"), False), (seen(is_over=True), False), (seen(scheduler="x"), False)],
)
def test_who_waits(pod, expected):
    assert pod.waits is expected
