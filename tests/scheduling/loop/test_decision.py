"""Whole decisions: messages (section V), nominations (N), and what a decision leaves for the pods after it."""

from __future__ import annotations

import numpy as np
import pytest

from builders import HOSTNAME, a_node, a_pod, a_pv, a_pvc, a_storage_class, ago, claim_volume, selector
from builders.affinity import node_affinity, node_term, pod_affinity, pod_anti_affinity, pod_term
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.decision import Scheduler

PREEMPTION = "no new claims to deallocate, preemption: "


class Scheduling:
    """A scheduler asked by name."""

    def __init__(self, *objects) -> None:
        self.state = ClusterState(a_cluster(*objects))
        self.scheduler = Scheduler(Context.of(self.state))

    def decide(self, name="p"):
        return self.scheduler.decide(self.state.cluster.pods.names.index(name))

    def settle(self, name):
        self.scheduler.settle(self.decide(name))

    def node(self, name="p"):
        return self._name(self.decide(name).node)

    def nominated(self, name="p"):
        return self._name(self.decide(name).nominated_node)

    def feasible(self, name="p"):
        return [self._name(node) for node in self.decide(name).verdicts.feasible.tolist()]

    def _name(self, node):
        return self.state.cluster.nodes.names[node] if node >= 0 else ""


def message(*objects) -> str:
    return Scheduling(*objects).decide().message


def used(node, cpu, memory="0"):
    return a_pod(f"used-{node}", node=node, cpu=cpu, memory=memory)


def not_helpful(count) -> str:
    text = f"{count} Preemption is not helpful for scheduling"
    return f"{PREEMPTION}0/{count} nodes are available: {text}."


def test_reasons_are_counted_v01() -> None:
    cluster = [a_node("n0", unschedulable=True)]
    for index in range(1, 5):
        cluster += [a_node(f"n{index}", cpu="2", memory="2Gi"), used(f"n{index}", "2", "2Gi" if index < 3 else "0")]
    assert message(*cluster, a_pod("p", cpu="1", memory="1Gi")) == (
        "0/5 nodes are available: 1 node(s) were unschedulable, 2 Insufficient memory, 4 Insufficient cpu. "
        f"{PREEMPTION}0/5 nodes are available: "
        "1 Preemption is not helpful for scheduling, 4 No preemption victims found for incoming pod."
    )


def test_entries_are_sorted_as_texts_v03() -> None:
    nodes = [a_node(f"t{index}", taints=["a:NoSchedule"]) for index in range(9)]
    nodes += [a_node(f"u{index}", labels={"a": "b"}) for index in range(3)]
    pod = a_pod("p", node_selector={"c": "d"})
    assert message(*nodes, pod).startswith(
        "0/12 nodes are available: 3 node(s) didn't match Pod's node affinity/selector, 9 node(s) had untolerated taint(s)."
    )


@pytest.mark.parametrize(
    ("node", "text"),
    [
        pytest.param(
            a_node("n1", unschedulable=True, taints=["node.kubernetes.io/unschedulable:NoSchedule"]),
            "1 node(s) were unschedulable",
            id="V04",
        ),
        pytest.param(a_node("n1", cpu="1", taints=["a:NoSchedule"]), "1 node(s) had untolerated taint(s)", id="V05"),
        pytest.param(a_node("n1", cpu="1"), "1 Insufficient cpu", id="O42-larger-than-the-node"),
    ],
)
def test_only_the_first_plugin_is_heard_and_preemption_does_not_help(node, text) -> None:
    assert message(node, a_pod("p", cpu="2", priority=5)) == f"0/1 nodes are available: {text}. {not_helpful(1)}"


def test_nodes_that_are_not_named_are_rejected_one_by_one_v07() -> None:
    pod = a_pod("p", affinity=node_affinity([node_term(fields=[("metadata.name", "In", "gone")])]))
    text = "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [NodeAffinity]. " + not_helpful(3)
    assert message(a_node("n1"), a_node("n2"), a_node("n3"), pod) == text


def test_who_rejected_the_nominated_node_is_named_too() -> None:
    pod = a_pod("p", nominated_node="n1", affinity=node_affinity([node_term(fields=[("metadata.name", "In", "gone")])]))
    assert message(a_node("n1", taints=["a:NoSchedule"]), a_node("n2"), pod).startswith(
        "0/2 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity TaintToleration], "
        "1 node(s) had untolerated taint(s). "
    )


def test_a_pod_that_contradicts_itself_is_not_asked_to_preempt() -> None:
    contradiction = node_affinity([node_term(fields=[("metadata.name", "In", name) for name in "ab"])])
    pod = a_pod("p", affinity=contradiction, nominated_node="n1")
    assert message(a_node("n1"), pod) == "0/1 nodes are available: pod affinity terms conflict. not found"


def test_a_pod_that_waits_for_its_volume_is_not_asked_to_preempt_v06() -> None:
    cluster = [a_node("n1"), a_storage_class("now"), a_pvc("c", storage_class="now")]
    assert message(*cluster, a_pod("p", volumes=[claim_volume("c")])) == (
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
    )


def test_no_node_at_all() -> None:
    assert message(a_pod("p", priority=5)) == "no nodes available to schedule pods"


def test_missing_affinity_is_no_reason_to_preempt_o41() -> None:
    wanted = pod_affinity([pod_term(selector(labels={"app": "a"}))])
    pods = [used("n1", "1"), a_pod("p", priority=5, affinity=wanted)]
    assert message(a_node("n1", labels={HOSTNAME: "n1"}), *pods).endswith(not_helpful(1))


def test_a_preemptor_keeps_its_place_and_its_victims_stay_v08() -> None:
    cluster = Scheduling(
        a_node("n1", cpu="1"),
        a_pod("victim", node="n1", cpu="1"),
        a_pod("high", cpu="1", priority=10),
        a_pod("low", cpu="1", priority=5),
    )
    high = cluster.decide("high")
    assert (cluster.nominated("high"), high.message) == ("n1", "0/1 nodes are available: 1 Insufficient cpu.")
    assert [cluster.state.cluster.pods.names[pod] for pod in high.victims] == ["victim"]
    cluster.scheduler.settle(high)
    assert cluster.nominated("low") == ""
    assert cluster.state.exists.all()


@pytest.mark.parametrize(
    ("priority", "node", "victims"),
    [pytest.param(0, "", [], id="S09-not-from-its-equals"), pytest.param(1, "n1", ["user"], id="S10-from-pods-below")],
)
def test_a_claim_for_one_pod_is_taken_by_preemption(priority, node, victims) -> None:
    claim = a_pvc("c", volume="v", access_modes=("ReadWriteOncePod",))
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    volumes = [claim_volume("c")]
    pods = [a_pod("user", node="n1", volumes=volumes), a_pod("p", priority=priority, volumes=volumes)]
    cluster = Scheduling(a_node("n1"), a_node("n2"), a_pv("v"), claim, *pods)
    decision = cluster.decide()
    assert cluster.nominated() == node
    assert [cluster.state.cluster.pods.names[pod] for pod in decision.victims] == victims
    assert len(decision.preemption.candidates) == len(victims)


def test_a_preemptor_takes_the_nomination_of_pods_below_it() -> None:
    cluster = Scheduling(
        a_node("n1", cpu="2", memory="8Gi"),
        a_pod("a", node="n1", cpu="1"),
        a_pod("high", cpu="2", priority=10),
        a_pod("later", cpu="0", memory="6Gi", priority=5, created=ago(9)),
        a_pod("nominated", cpu="0", memory="4Gi", priority=5, created=ago(8), nominated_node="n1"),
    )
    assert cluster.feasible("later") == []
    cluster.settle("high")
    assert cluster.feasible("later") == ["n1"]


@pytest.mark.parametrize(
    ("cpu", "feasible"),
    [pytest.param("2", ["n1"], id="N04-fits-there"), pytest.param("4", ["n2"], id="N05-does-not")],
)
def test_a_nominated_node_is_tried_first(cpu, feasible) -> None:
    cluster = Scheduling(a_node("n1", cpu="2"), a_node("n2", cpu="64"), a_pod("p", cpu=cpu, nominated_node="n1"))
    assert cluster.feasible() == feasible


@pytest.mark.parametrize(
    ("priority", "feasible"),
    [pytest.param(5, ["n2"], id="N06-below"), pytest.param(11, ["n1", "n2"], id="N07-above")],
)
def test_a_nominated_pod_keeps_its_place_from_pods_below(priority, feasible) -> None:
    nominated = a_pod("nominated", cpu="2", priority=10, nominated_node="n1")
    pod = a_pod("p", cpu="2", priority=priority)
    assert Scheduling(a_node("n1", cpu="3"), a_node("n2", cpu="3"), nominated, pod).feasible() == feasible


@pytest.mark.parametrize(
    ("rule", "feasible"),
    [
        pytest.param(pod_affinity, [], id="N08-affinity-does-not-count-on-it"),
        pytest.param(pod_anti_affinity, ["n2"], id="anti-affinity-does"),
    ],
)
def test_a_nominated_pod_may_never_come(rule, feasible) -> None:
    nodes = [a_node(name, labels={HOSTNAME: name}) for name in ("n1", "n2")]
    nominated = a_pod("nominated", labels={"app": "a"}, nominated_node="n1")
    pod = a_pod("p", affinity=rule([pod_term(selector(labels={"app": "a"}))]))
    assert Scheduling(*nodes, nominated, pod).feasible() == feasible


def test_a_placed_pod_is_nominated_no_longer() -> None:
    cluster = Scheduling(a_node("n1", cpu="3"), a_pod("first", cpu="2", nominated_node="n1"), a_pod("p", cpu="1"))
    cluster.settle("first")
    assert cluster.feasible() == ["n1"]
    cluster.state.validate()


CLAIMING = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}


class TestWhatIsNotKnown:
    """A pod with resource claims, without devices in the input: no node whoever asks, and its nomination stays."""

    def test_no_answer_names_a_node(self) -> None:
        asked = Scheduling(a_node("n1"), a_node("n2"), a_pod("p", spec=CLAIMING))
        decision, scheduler = asked.decide(), asked.scheduler
        assert (asked.node(), asked.nominated(), asked.feasible()) == ("", "", [])
        assert decision.unknown == "it claims devices, and objects of kind ResourceClaim are not known here"
        everywhere = np.arange(2)
        assert [len(each) for each in (scheduler.admitting(0), scheduler.passing(0, everywhere))] == [0, 0]
        assert not scheduler.fitting(0).any()
        assert len(scheduler.odds(decision).nodes) == 0

    def test_it_keeps_the_place_for_which_another_scheduler_nominated_it(self) -> None:
        nominated = a_pod("p", cpu="4", priority=1, spec=CLAIMING, nominated_node="n1")
        asked = Scheduling(a_node("n1", cpu="4"), nominated, a_pod("q", cpu="1"))
        asked.settle("p")
        assert asked.node("q") == ""
