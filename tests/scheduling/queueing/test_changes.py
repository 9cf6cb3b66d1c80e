"""What a change of an object means, as metrics call it: the rows of upstream's tests of PodSchedulingPropertiesChange and NodeSchedulingPropertiesChange, and its event handlers."""

from __future__ import annotations

import pytest

from restow.kube.objects import Taint, Toleration
from restow.scheduling.framework.requeueing import NodeFacts, PodFacts, Resource
from restow.scheduling.queueing.events import node_events, object_events, own_changes, pod_events


def pod(**facts: object) -> PodFacts:
    return PodFacts(uid="p", **facts)  # type: ignore[arg-type]


def node(**facts: object) -> NodeFacts:
    return NodeFacts(name="n", **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("old", "new", "labels"),
    [
        pytest.param(None, pod(node="n"), ["AssignedPodAdd"], id="comes-with-a-node"),
        pytest.param(pod(), pod(node="n"), ["AssignedPodAdd"], id="is-bound"),
        pytest.param(pod(nominated_node="n"), pod(node="n"), ["AssignedPodAdd"], id="nominated-is-bound"),
        pytest.param(pod(node="n"), None, ["AssignedPodDelete"], id="goes"),
        pytest.param(pod(node="n"), pod(node="n"), ["AssignedPodUpdate"], id="status"),
        pytest.param(pod(node="n"), pod(node="n", labels={"a": "b"}), ["AssignedPodUpdatePodLabel"], id="label"),
        pytest.param(
            pod(node="n", requests={"cpu": 2}),
            pod(node="n", requests={"cpu": 1}, labels={"a": "b"}),
            ["AssignedPodUpdatePodLabel", "AssignedPodUpdatePodScaleDown"],
            id="label-and-scale-down",
        ),
        pytest.param(None, pod(), [], id="waiting-comes"),
        pytest.param(pod(), pod(labels={"a": "b"}), [], id="waiting-changes"),
        pytest.param(pod(), None, [], id="waiting-goes"),
        pytest.param(pod(nominated_node="n"), None, ["AssignedPodDelete"], id="nominated-goes"),
        pytest.param(pod(nominated_node="n"), pod(), ["AssignedPodDelete"], id="nomination-is-given-up"),
        pytest.param(pod(nominated_node="n"), pod(nominated_node="m"), ["AssignedPodDelete"], id="nomination-moves"),
        pytest.param(pod(), pod(nominated_node="n"), [], id="is-nominated"),
        pytest.param(pod(nominated_node="n"), pod(nominated_node="n", labels={"a": "b"}), [], id="stays-nominated"),
        pytest.param(None, None, [], id="nothing"),
    ],
)
def test_pods_that_others_wait_for(old: PodFacts | None, new: PodFacts | None, labels: list[str]) -> None:
    assert [event.label for event in pod_events(old, new)] == labels


def test_only_pods_that_are_not_more_important_hear_that_a_nomination_is_given_up() -> None:
    assert [each.at_most_priority for each in pod_events(pod(nominated_node="n", priority=5), None)] == [5]
    assert [each.at_most_priority for each in pod_events(pod(node="n", priority=5), None)] == [None]


@pytest.mark.parametrize(
    ("old", "new", "labels"),
    [
        pytest.param(pod(), pod(), ["UnschedulablePodUpdate"], id="nothing-that-is-known"),
        pytest.param(pod(), pod(labels={"a": "b"}), ["UnschedulablePodUpdatePodLabel"], id="label"),
        pytest.param(
            pod(requests={"cpu": 2}), pod(requests={"cpu": 1}), ["UnschedulablePodUpdatePodScaleDown"], id="less"
        ),
        pytest.param(pod(requests={"cpu": 1}), pod(), ["UnschedulablePodUpdatePodScaleDown"], id="request-removed"),
        pytest.param(pod(requests={"cpu": 1}), pod(requests={"cpu": 2}), ["UnschedulablePodUpdate"], id="more"),
        pytest.param(
            pod(gates=("a",)), pod(), ["UnschedulablePodUpdatePodSchedulingGatesEliminated"], id="last-gate-removed"
        ),
        pytest.param(pod(gates=("a", "b")), pod(gates=("b",)), ["UnschedulablePodUpdate"], id="a-gate-removed"),
        pytest.param(
            pod(), pod(tolerations=(Toleration(key="a"),)), ["UnschedulablePodUpdatePodToleration"], id="toleration"
        ),
    ],
)
def test_waiting_pods(old: PodFacts, new: PodFacts, labels: list[str]) -> None:
    assert [event.label for event in own_changes(old, new)] == labels


@pytest.mark.parametrize(
    ("old", "new", "labels"),
    [
        pytest.param(None, node(), ["NodeAdd"], id="added"),
        pytest.param(node(), None, ["NodeDelete"], id="deleted"),
        pytest.param(node(), node(), [], id="heartbeat"),
        pytest.param(node(), node(allocatable={"cpu": 1}), ["NodeUpdateNodeAllocatable"], id="allocatable"),
        pytest.param(node(), node(labels={"a": "b"}), ["NodeUpdateNodeLabel"], id="label"),
        pytest.param(node(), node(taints=(Taint(key="a"),)), ["NodeUpdateNodeTaint"], id="taint"),
        pytest.param(node(), node(conditions={"Ready": "True"}), ["NodeUpdateNodeCondition"], id="condition"),
        pytest.param(node(unschedulable=True), node(), ["NodeUpdateNodeTaint"], id="uncordoned"),
        pytest.param(node(), node(unschedulable=True), [], id="cordoned"),
        pytest.param(
            node(unschedulable=True, taints=(Taint(key="a"),)),
            node(labels={"a": "b"}, allocatable={"cpu": 1}),
            ["NodeUpdateNodeTaint", "NodeUpdateNodeAllocatable", "NodeUpdateNodeLabel", "NodeUpdateNodeTaint"],
            id="several",
        ),
    ],
)
def test_nodes(old: NodeFacts | None, new: NodeFacts | None, labels: list[str]) -> None:
    assert [event.label for event in node_events(old, new)] == labels


@pytest.mark.parametrize(
    ("old", "new", "label"),
    [
        (None, 1, "storage.k8s.io/StorageClassAdd"),
        (1, 1, "storage.k8s.io/StorageClassUpdate"),
        (1, None, "storage.k8s.io/StorageClassDelete"),
    ],
)
def test_other_objects(old: object, new: object, label: str) -> None:
    assert [event.label for event in object_events(Resource.STORAGE_CLASS, old, new)] == [label]
