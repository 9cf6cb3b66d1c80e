"""Several profiles on one cluster, and profiles that run only a part of their plugins."""

from __future__ import annotations

import pytest

from builders import (
    HOSTNAME,
    Object,
    a_node,
    a_pod,
    ago,
    node_affinity,
    node_term,
    pod_anti_affinity,
    pod_term,
    selector,
)
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.loop.scheduling_pass import schedule
from scheduling.configurations import a_configuration, a_profile, a_set, loaded

PACKING = {"NodeResourcesFit": {"scoringStrategy": {"type": "MostAllocated"}}}


class Scheduling:
    """The schedulers of a configuration, asked by the names of pods."""

    def __init__(self, *objects: Object, text: str) -> None:
        self.state = ClusterState(a_cluster(*objects))
        self.schedulers = Schedulers(Context.of(self.state), loaded(text).profiles)

    def decide(self, name: str = "p"):
        return self.schedulers.decide(self.state.cluster.pods.names.index(name))

    def settle(self, name: str = "p") -> None:
        self.schedulers.settle(self.decide(name))

    def best(self, name: str = "p") -> list[str]:
        return self._nodes(self.decide(name).best)

    def feasible(self, name: str = "p") -> list[str]:
        return self._nodes(self.decide(name).verdicts.feasible)

    def queue(self) -> list[str]:
        return [self.state.cluster.pods.names[pod] for pod in self.schedulers.queue().pods]

    def _nodes(self, nodes) -> list[str]:
        return [self.state.cluster.nodes.names[node] for node in nodes.tolist()]


def of(name: str) -> Object:
    return {"schedulerName": name}


def under(*objects: Object, **points: Object) -> Scheduling:
    """A cluster under one profile with these plugin sets."""
    return Scheduling(*objects, text=a_configuration(a_profile(**points)))


TWO = a_configuration(a_profile("default-scheduler"), a_profile("packing", args=PACKING))
HALF_FULL = [
    a_node("empty", cpu="4", memory="8Gi"),
    a_node("half", cpu="4", memory="8Gi"),
    a_pod("used", node="half", cpu="2", memory="4Gi"),
]


def test_a_pod_goes_by_the_profile_that_it_names():
    scheduling = Scheduling(*HALF_FULL, a_pod("p", cpu="1"), a_pod("q", cpu="1", spec=of("packing")), text=TWO)
    assert scheduling.best("p") == ["empty"]
    assert scheduling.best("q") == ["half"]


def test_there_is_one_queue_for_all_profiles():
    pods = [
        a_pod("old", created=ago(30)),
        a_pod("important", created=ago(10), priority=5, spec=of("packing")),
        a_pod("new", created=ago(20), spec=of("packing")),
    ]
    assert Scheduling(a_node("n"), *pods, text=TWO).queue() == ["important", "old", "new"]


def test_a_pod_of_another_scheduler_is_left_as_it_is():
    pods = [
        a_pod("a-1", namespace="shop", spec=of("volcano")),
        a_pod("placed", node="n", spec=of("volcano")),
        a_pod("p"),
    ]
    scheduling = Scheduling(a_node("n"), *pods, text=TWO)
    assert scheduling.queue() == ["p"]
    assert list(scheduling.schedulers.left_alone().values()) == [
        'shop/a-1 asks for scheduler "volcano", which the configuration does not have; it is left as it is'
    ]
    with pytest.raises(KeyError):
        scheduling.decide("a-1")


def test_nominations_are_shared():
    """What one profile's pod preempts, less important pods of another profile do not take."""
    scheduling = Scheduling(
        a_node("n", cpu="2"),
        a_pod("victim", node="n", cpu="2"),
        a_pod("strong", cpu="2", priority=10, spec=of("packing")),
        a_pod("weak", cpu="2", priority=5),
        text=TWO,
    )
    scheduling.settle("strong")
    assert scheduling.decide("weak").nominated_node < 0
    scheduling.schedulers.scheduler_of(scheduling.state.cluster.pods.names.index("strong"))
    assert scheduling.decide("strong").victims


def test_gates_are_passed_over_where_nobody_minds_them():
    gated = a_pod("p", spec={"schedulingGates": [{"name": "g"}]})
    assert under(a_node("n"), gated).queue() == []
    assert under(a_node("n"), gated, preEnqueue=a_set(off=("SchedulingGates",))).queue() == ["p"]


FULL = [a_node("n", cpu="1"), a_pod("used", node="n", cpu="1"), a_pod("p", cpu="1", priority=5)]
NO_ROOM = "0/1 nodes are available: 1 Insufficient cpu."


@pytest.mark.parametrize(
    ("plugins", "message"),
    [
        pytest.param({}, NO_ROOM.removesuffix("."), id="default"),
        pytest.param(a_set(off=("DefaultPreemption",)), f"{NO_ROOM} no new claims to deallocate", id="no preemption"),
        pytest.param(a_set(off=("*",)), NO_ROOM, id="nobody"),
    ],
)
def test_preemption_can_be_switched_off(plugins, message):
    decision = under(*FULL, postFilter=plugins).decide()
    assert bool(decision.victims) == (not plugins)
    assert decision.message.startswith(message)


def test_who_is_asked_after_the_filters_says_so_in_that_order():
    never = a_pod("p", cpu="1", spec={"preemptionPolicy": "Never"})
    last = a_set("DefaultPreemption", "DynamicResources")
    assert under(*FULL[:2], never, postFilter=last).decide().message == (
        f"{NO_ROOM} preemption: not eligible due to preemptionPolicy=Never., no new claims to deallocate"
    )


CONFLICT = node_affinity([node_term(fields=[("metadata.name", "In", "a"), ("metadata.name", "In", "b")])])


@pytest.mark.parametrize(
    ("points", "told"),
    [
        pytest.param({}, " not found", id="default"),
        pytest.param(
            {"preFilter": a_set("DynamicResources")}, " no new claims to deallocate, preemption: 0/1", id="seen"
        ),
        pytest.param({"postFilter": a_set(off=("DynamicResources",))}, " preemption: 0/1", id="not asked"),
        pytest.param(
            {point: a_set(off=("DynamicResources",)) for point in ("preFilter", "filter")},
            " not found",
            id="never seen",
        ),
    ],
)
def test_claims_are_not_found_where_the_pod_was_ruled_out_before(points, told):
    decision = under(a_node("n"), a_pod("p", affinity=CONFLICT), **points).decide()
    assert decision.message.startswith(f"0/1 nodes are available: pod affinity terms conflict.{told}")


def test_a_plugin_that_does_not_filter_still_rules_out_beforehand():
    named = node_affinity([node_term(("gone", "Exists"), fields=[("metadata.name", "In", "a")])])
    cluster = [a_node("a"), a_node("b"), a_pod("p", affinity=named)]
    assert under(*cluster, filter=a_set(off=("NodeAffinity",))).feasible() == ["a"]


def test_a_plugin_that_only_filters_rules_out_nothing_beforehand():
    decision = under(a_node("n"), a_pod("p", affinity=CONFLICT), preFilter=a_set(off=("NodeAffinity",))).decide()
    assert decision.verdicts.prefilter is None
    assert decision.verdicts.rejection(0).plugin == "NodeAffinity"


def test_the_order_of_filters_says_who_objects_first():
    cluster = [a_node("n", cpu="1", taints=["t:NoSchedule"]), a_pod("p", cpu="2")]
    assert under(*cluster).decide().verdicts.rejection(0).plugin == "TaintToleration"
    first = {"filter": a_set("NodeResourcesFit")}
    assert under(*cluster, **first).decide().verdicts.rejection(0).plugin == "NodeResourcesFit"


def test_a_score_without_its_preparation_is_0_where_there_was_no_opinion():
    decision = under(a_node("a"), a_node("b"), a_pod("p"), preScore=a_set(off=("NodeAffinity",))).decide()
    assert decision.ranking.by_plugin["NodeAffinity"].tolist() == [0, 0]
    assert "NodeAffinity" not in under(a_node("a"), a_node("b"), a_pod("p")).decide().ranking.by_plugin


def test_weights_multiply():
    decision = under(a_node("a"), a_pod("p"), score=a_set("ImageLocality", "TaintToleration=7", off=("*",))).decide()
    assert {name: scores.tolist() for name, scores in decision.ranking.by_plugin.items()} == {
        "ImageLocality": [0],
        "TaintToleration": [700],
    }


def test_without_scores_every_feasible_node_could_win():
    cluster = [a_node("a"), a_node("b", cpu="64"), a_node("c", unschedulable=True), a_pod("p")]
    assert under(*cluster, score=a_set(off=("*",))).best() == ["a", "b"]


def test_terms_that_cannot_be_read_are_found_when_scores_are_prepared():
    """Where InterPodAffinity does not look at them before."""
    repelled = pod_anti_affinity([pod_term(selector(("a b", "Exists")), topology=HOSTNAME)])
    off = a_set(off=("InterPodAffinity",))
    decision = under(a_node("a"), a_node("b"), a_pod("p", affinity=repelled), preFilter=off, filter=off).decide()
    assert decision.node < 0
    assert decision.message.startswith('running PreScore plugin "InterPodAffinity": failed to parse pod: ')


@pytest.mark.parametrize(
    ("resources", "best"),
    [
        pytest.param([{"name": "cpu"}], "cpu", id="cpu"),
        pytest.param([{"name": "memory"}], "memory", id="memory"),
        pytest.param([{"name": "cpu", "weight": 3}, {"name": "memory"}, {"name": "cpu"}], "cpu", id="twice"),
    ],
)
def test_the_resources_of_the_strategy_count_by_their_weights(resources, best):
    args = {"NodeResourcesFit": {"scoringStrategy": {"type": "LeastAllocated", "resources": resources}}}
    profile = a_profile(args=args, score=a_set("NodeResourcesFit", off=("*",)))
    cluster = [
        a_node("cpu", cpu="8", memory="1Gi"),
        a_node("memory", cpu="1", memory="16Gi"),
        a_pod("p", memory="64Mi"),
    ]
    assert Scheduling(*cluster, text=a_configuration(profile)).best() == [best]


def test_added_affinity_is_asked_of_every_node():
    terms = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]}]}
    args = {"NodeAffinity": {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
    cluster = [a_node("a", labels={"pool": "a"}), a_node("b", labels={"pool": "b"}), a_pod("p")]
    scheduling = Scheduling(*cluster, text=a_configuration(a_profile(args=args)))
    assert scheduling.feasible() == ["a"]
    reasons = scheduling.decide().verdicts.rejection(1).outcome.reasons
    assert reasons == ("node(s) didn't match scheduler-enforced node affinity",)


def two_slots(*pods: dict) -> Schedulers:
    return Schedulers(Context.of(ClusterState(a_cluster(a_node("n1", pods=1), a_node("n2", pods=1), *pods))))


def test_pods_are_taken_in_the_queues_order_each_on_what_is_left():
    schedulers = two_slots(a_pod("a"), a_pod("b"), a_pod("first", priority=5))
    pods = schedulers._state.cluster.pods
    found = [(pods.names[each.pod], each.node) for each in schedule(schedulers)]
    assert found == [("first", 0), ("a", 1), ("b", -1)]


def test_a_decision_is_given_before_it_comes_true():
    schedulers = two_slots(a_pod("a"))
    nodes = schedulers._state.node
    decisions = schedule(schedulers)
    assert next(decisions).node == 0
    assert nodes[0] == -1
    assert list(decisions) == []
    assert nodes[0] == 0


def test_only_the_pods_that_are_asked_about_are_decided():
    schedulers = two_slots(a_pod("a"), a_pod("b"))
    assert [each.pod for each in schedule(schedulers, [1])] == [1]
