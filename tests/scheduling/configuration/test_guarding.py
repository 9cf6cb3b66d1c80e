"""A plugin of a package that fails protects pods: no node passes its filter, and no pod gets a node by its score."""

from __future__ import annotations

import numpy as np
import pytest

from builders import a_node, a_pod
from builders.entry_points import entry_points, offering
from cluster.test_state import node_row
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.errors import InputError
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import SchedulerPlugin
from restow.scheduling.framework.extension_points import PROCEED, FilterResult, Outcome, PreFiltered, Scope, one_outcome
from restow.scheduling.framework.post_filtering import Preemption
from restow.scheduling.loop.decision import Scheduler
from scheduling.configurations import a_configuration, a_profile, a_set, loaded

NODES = ("n1", "n2", "n3")
FULL = Outcome(("full",))


def passing(_self, _pod, nodes):
    return FilterResult(np.full(len(nodes), -1), ())


def decided(points=("filter",), *, pods=(), weight=1, **methods):
    """The decision about a pod of a scheduler with a plugin of these methods, and the scheduler."""
    made = type("Own", (), methods)
    with entry_points(offering("Own", SchedulerPlugin("Own", points, lambda _context, _args: made()))):
        (profile,) = loaded(a_configuration(a_profile(multiPoint=a_set(f"Own={weight}")))).profiles
        state = ClusterState(a_cluster(*(a_node(name, pods=3) for name in NODES), a_pod("p"), *pods))
        scheduler = Scheduler(Context.of(state), profile)
        pod = state.cluster.pods.names.index("p")
        return scheduler.decide(pod), scheduler


def raising(*_args):
    raise KeyError("gpu\nx")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(raising, "filter raised KeyError: 'gpu\\nx'", id="raises"),
        pytest.param(lambda *_: None, "filter returned nothing instead of a FilterResult", id="nothing"),
        pytest.param(lambda *_: np.zeros(3, bool), "filter returned bool[3] instead of a FilterResult", id="array"),
        pytest.param(
            lambda *_: FilterResult(np.full(2, -1), ()),
            "filter returned categories of int64[2] instead of int64[3]",
            id="short",
        ),
        pytest.param(
            lambda *_: FilterResult(np.full(3, -1.0), ()),
            "filter returned categories of float64[3] instead of int64[3]",
            id="floats",
        ),
        pytest.param(
            lambda *_: FilterResult(np.full(3, 1), (FULL,)),
            "filter returned a category that is none of its 1 outcomes",
            id="beyond",
        ),
        pytest.param(
            lambda *_: FilterResult(np.full(3, -2), (FULL,)),
            "filter returned a category that is none of its 1 outcomes",
            id="below",
        ),
        pytest.param(
            lambda *_: FilterResult(np.full(3, -1), ("full",)),
            "filter returned a value of type str instead of an Outcome with a tuple of reasons",
            id="text",
        ),
        pytest.param(
            lambda *_: FilterResult(np.full(3, -1), (Outcome("full"),)),
            "filter returned a value of type Outcome instead of an Outcome with a tuple of reasons",
            id="reasons",
        ),
    ],
)
def test_a_filter_that_fails_rejects_every_node_for_good(answer, why):
    decision, _ = decided(filter=answer)
    assert decision.node == -1
    assert f'3 plugin "Own" failed: {why}.' in decision.message
    assert "3 Preemption is not helpful for scheduling" in decision.message


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(raising, "prefilter raised KeyError", id="raises"),
        pytest.param(lambda *_: True, "prefilter returned a value of type bool instead of a PreFiltered", id="type"),
        pytest.param(
            lambda *_: PreFiltered(allowed=np.ones(2, bool)), "prefilter allowed bool[2] instead of bool[3]", id="short"
        ),
        pytest.param(lambda *_: PreFiltered(failure="x"), "prefilter returned a value of type str", id="failure"),
    ],
)
def test_a_prefilter_that_fails_rules_out_the_pod(answer, why):
    decision, _ = decided(("preFilter", "filter"), prefilter=answer, filter=passing)
    assert decision.message.startswith(f'0/3 nodes are available: plugin "Own" failed: {why}')


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(raising, "score raised KeyError", id="raises"),
        pytest.param(lambda *_: np.zeros(2, int), "score returned int64[2] instead of int64[3]", id="short"),
        pytest.param(lambda *_: np.zeros(3), "score returned float64[3] instead of int64[3]", id="floats"),
        pytest.param(lambda *_: True, "score returned a value of type bool", id="type"),
        pytest.param(lambda *_: 101, "a score is 101, not 0 to 100", id="high"),
        pytest.param(lambda *_: np.array([0, 1, -1]), "a score is -1, not 0 to 100", id="low"),
    ],
)
def test_a_score_that_fails_leaves_the_pod_without_a_node(answer, why):
    decision, _ = decided(("score",), score=answer)
    assert decision.node == -1
    assert decision.message.startswith(f'running Score plugins: plugin "Own" failed: {why}')


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(raising, "normalize_score raised KeyError", id="raises"),
        pytest.param(lambda _, raw, *__: raw[1:], "normalize_score returned int64[2] instead of int64[3]", id="short"),
        pytest.param(lambda _, raw, *__: raw, "a score is 700, not 0 to 100", id="range"),
    ],
)
def test_scores_that_cannot_be_normalised_leave_the_pod_without_a_node(answer, why):
    decision, _ = decided(("score",), score=lambda *_: np.array([0, 1, 700]), normalize_score=answer)
    assert decision.message.startswith(f'running Score plugins: plugin "Own" failed: {why}')


def test_where_windows_cannot_be_scored_any_feasible_node_may_win():
    """As many nodes as make a scheduler look at some of them only."""
    asked = []

    def normalised(_self, raw, lowest, highest):
        asked.append(len(raw))
        return (raw * 0) if len(asked) == 1 else None

    plugin = SchedulerPlugin(
        "Own",
        ("score",),
        lambda *_: type("Own", (), {"score": lambda _, __, nodes: nodes % 7, "normalize_score": normalised})(),
    )
    with entry_points(offering("Own", plugin)):
        (profile,) = loaded(a_configuration(a_profile(multiPoint=a_set("Own")))).profiles
        state = ClusterState(a_cluster(*(a_node(f"n{each:03}") for each in range(250)), a_pod("p")))
        scheduler = Scheduler(Context.of(state), profile)
        odds = scheduler.odds(scheduler.decide(0))
    assert len(odds.nodes) == 250


def test_a_post_filter_that_fails_can_do_nothing():
    plugin = SchedulerPlugin("Own", ("postFilter",), make_post_filter=lambda *_: object())
    with entry_points(offering("Own", plugin)):
        (profile,) = loaded(a_configuration(a_profile(multiPoint=a_set("Own")))).profiles
        state = ClusterState(a_cluster(a_node("n1", cpu="1"), a_pod("p", cpu="2")))
        message = Scheduler(Context.of(state), profile).decide(0).message
    assert "plugin \"Own\" failed: post_filter raised AttributeError: 'object' object has no attribute" in message


def test_a_post_filter_that_answers_is_asked_in_its_turn():
    own = type("Own", (), {"post_filter": lambda *_: Preemption(message="nothing to be done", keeps_nomination=True)})
    plugin = SchedulerPlugin("Own", ("postFilter",), make_post_filter=lambda *_: own())
    with entry_points(offering("Own", plugin)):
        (profile,) = loaded(a_configuration(a_profile(multiPoint=a_set("Own")))).profiles
        state = ClusterState(a_cluster(a_node("n1", cpu="1"), a_pod("p", cpu="2")))
        assert Scheduler(Context.of(state), profile).decide(0).message.endswith(", nothing to be done")


@pytest.mark.parametrize("key", [raising, lambda *_: "text"], ids=["raises", "text"])
def test_a_key_that_fails_rejects_every_node(key):
    decision, _ = decided(filter=passing, scope=Scope.RESIDENTS, key=key)
    assert '3 plugin "Own" failed: key r' in decision.message


def test_verdicts_with_a_key_are_kept_until_a_node_changes():
    asked = []

    def filter_(_self, _pod, nodes):
        asked.append(nodes.tolist())
        return one_outcome(nodes == 0, FULL)

    decision, scheduler = decided(
        filter=filter_, scope=Scope.RESIDENTS, key=lambda *_: 7, pods=[a_pod("q", node="n2"), a_pod("r")]
    )
    scheduler.decide(decision.pod + 2)
    assert decision.verdicts.feasible.tolist() == [1, 2]
    scheduler._state.remove(decision.pod + 1)
    scheduler.decide(decision.pod)
    assert asked == [[0, 1, 2], [1]]


@pytest.mark.parametrize("answer", [raising, lambda *_: np.array([99]), lambda *_: [0]], ids=["raises", "row", "list"])
def test_where_nobody_knows_who_affects_it_a_pod_may_preempt_whoever_helps(answer):
    """A node's pods leave the state in the dry run, so the plugin sees it without them."""
    there = [a_pod(f"q{each}", node="n1", priority=-1) for each in range(2)]

    def crowded(self, _pod, nodes):
        return one_outcome(self.counts.get(0, 0) > 1 - (nodes > 0) * 5, FULL)

    decision, _ = decided(pods=there, affecting_pods=answer, filter=crowded, **counting())
    (candidate,) = [each for each in decision.preemption.candidates if each.node == 0]
    assert len(candidate.victims) == 1


def counting():
    """Methods of a plugin that counts the pods of each node."""

    def count(more):
        def change(self, _pod, node):
            self.counts = getattr(self, "counts", {}) | {node: getattr(self, "counts", {}).get(node, 0) + more}

        return change

    return {"counts": {}, "add_pod": count(1), "remove_pod": count(-1)}


def test_its_counts_follow_what_is_placed_moved_and_taken_back():
    seen = []

    def filter_(self, _pod, nodes):
        seen.append({node: count for node, count in sorted(self.counts.items()) if count})
        return passing(self, _pod, nodes)

    decision, scheduler = decided(filter=filter_, pods=[a_pod("q", node="n2"), a_pod("r")], **counting())
    state = scheduler._state
    mark = state.checkpoint()
    state.place(decision.pod + 2, 0)
    scheduler.decide(decision.pod)
    state.place(decision.pod + 1, 0)
    scheduler.decide(decision.pod)
    state.undo(mark)
    scheduler.decide(decision.pod)
    assert seen == [{1: 1}, {0: 1, 1: 1}, {0: 2}, {1: 1}]


def test_pods_that_are_over_are_not_counted():
    over = a_pod("q", node="n2", phase="Succeeded")
    seen = []

    def filter_(self, _pod, nodes):
        seen.append(dict(self.counts))
        return passing(self, _pod, nodes)

    decided(filter=filter_, pods=[over], **counting())
    assert seen == [{}]


def test_a_plugin_that_fails_to_follow_is_of_no_use_any_more():
    decision, scheduler = decided(filter=passing, add_pod=raising, remove_pod=raising)
    assert decision.node >= 0
    scheduler._state.place(decision.pod, 0)
    scheduler._state.place(decision.pod, -1)
    assert '3 plugin "Own" failed: add_pod raised KeyError' in scheduler.decide(decision.pod).message


@pytest.mark.parametrize(
    ("points", "methods", "problem"),
    [
        pytest.param(("filter",), {}, "no method filter for filter", id="filter"),
        pytest.param(("preFilter", "filter"), {"filter": passing}, "no method prefilter for preFilter", id="prefilter"),
        pytest.param(("score",), {"score": 3}, "no method score for score", id="no method"),
        pytest.param(
            ("filter",), {"filter": passing, "__init__": raising}, "cannot be made for this cluster", id="make"
        ),
        pytest.param(
            ("preFilter", "filter"),
            {"filter": passing, "prefilter": lambda *_: PROCEED, "scope": Scope.NODE, "key": lambda *_: 1},
            "a plugin with a scope cannot run at preFilter",
            id="scope",
        ),
    ],
)
def test_a_plugin_that_cannot_be_made_ends_in_one_sentence(points, methods, problem):
    with pytest.raises(InputError) as refused:
        decided(points, **methods)
    assert str(refused.value).startswith('scheduler plugin "Own"')
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


def test_no_two_pods_are_alike_to_a_plugin_of_which_nobody_knows_what_it_looks_at():
    """What one of them was refused for says nothing about the other."""
    _, scheduler = decided(pods=(a_pod("q"),), filter=passing)
    assert scheduler.signature(0) != scheduler.signature(1)
    state = ClusterState(a_cluster(*(a_node(name) for name in NODES), a_pod("p"), a_pod("q")))
    assert Scheduler(Context.of(state)).signature(0) == Scheduler(Context.of(state)).signature(1)


class OfItsNodes:
    """A plugin that keeps the names of the nodes that it was made for; it cannot be made where one has a bad name."""

    def __init__(self, context, _args):
        self._names = context.state.cluster.nodes.names
        if "bad" in self._names:
            raise KeyError("bad")
        self.added = []

    def add_pod(self, pod, node):
        self.added.append((pod, self._names[node]))

    def remove_pod(self, pod, node):
        self.added.remove((pod, self._names[node]))

    def filter(self, _pod, nodes):
        assert len(nodes) == len(self._names)
        return one_outcome(np.array([bool(self.added)] * len(nodes)), FULL)

    def post_filter(self, _pod, _verdicts):
        return Preemption(message=" ".join(self._names))


def test_a_plugin_is_made_anew_when_nodes_are_others():
    """It counts the pods that are there then; as long as it cannot be made, no node passes."""
    declared = SchedulerPlugin(
        "Own",
        ("filter", "postFilter"),
        OfItsNodes,
        make_post_filter=lambda handle, args: OfItsNodes(handle.context, args),
    )
    with entry_points(offering("Own", declared)):
        (profile,) = loaded(a_configuration(a_profile(multiPoint=a_set("Own")))).profiles
        state = ClusterState(a_cluster(a_node("n1"), a_pod("old", node="n1"), a_pod("p")))
        scheduler, pod = Scheduler(Context.of(state), profile), state.cluster.pods.names.index("p")
        assert scheduler.decide(pod).message.startswith("0/1 nodes are available: 1 full.")
        state.create_node(node_row(a_node("n0")))
        assert scheduler.decide(pod).message.endswith("n0 n1")
        state.delete_node(1)
        assert scheduler.decide(pod).node == 0
        state.create_node(node_row(a_node("bad")))
        why = "it cannot be made for the nodes as they are: KeyError: 'bad'"
        assert f'2 plugin "Own" failed: {why}' in scheduler.decide(pod).message
        state.delete_node(0)
        assert scheduler.decide(pod).node == 0
