"""The arbiter: who decides what in which order, the limits, and what is written down."""

from __future__ import annotations

import pytest

from builders import Owner, a_node, a_pod
from descheduling.trials import a_profile, evicted, failing, listing, refused, suggesting, trial
from restow.descheduling.framework import PendingFilters, Verdict

RS = Owner("ReplicaSet", "rs")
NODES = [a_node("n1"), a_node("n2")]
PODS = [
    a_pod("a1", namespace="a", node="n1", owner=RS),
    a_pod("a2", namespace="a", node="n1", owner=RS),
    a_pod("a3", namespace="a", node="n2", owner=RS),
    a_pod("b1", namespace="b", node="n1", owner=RS),
    a_pod("b2", namespace="b", node="n2", owner=RS),
]
NAMES = ("a1", "a2", "a3", "b1", "b2")
PER_NODE, PER_NAMESPACE = ("limit", "MaxPodsToEvictPerNode"), ("limit", "MaxPodsToEvictPerNamespace")
TOTAL = ("limit", "MaxPodsToEvictTotal")


def limits(per_node=None, per_namespace=None, total=None):
    return {
        "max_no_of_pods_to_evict_per_node": per_node,
        "max_no_of_pods_to_evict_per_namespace": per_namespace,
        "max_no_of_pods_to_evict_total": total,
    }


@pytest.mark.parametrize(
    ("limited", "moved", "stayed"),
    [
        pytest.param({}, NAMES, {}, id="none"),
        pytest.param({"per_node": 1}, ("a1", "a3"), dict.fromkeys(("a2", "b1", "b2"), PER_NODE), id="node"),
        pytest.param(
            {"per_namespace": 1}, ("a1", "b1"), dict.fromkeys(("a2", "a3", "b2"), PER_NAMESPACE), id="namespace"
        ),
        pytest.param({"total": 2}, ("a1", "a2"), dict.fromkeys(("a3", "b1", "b2"), TOTAL), id="total"),
        pytest.param({"per_node": 0}, (), dict.fromkeys(NAMES, PER_NODE), id="no-eviction-from-any-node"),
        pytest.param({"per_namespace": 0}, (), dict.fromkeys(NAMES, PER_NAMESPACE), id="none-in-any-namespace"),
        pytest.param({"total": 0}, (), dict.fromkeys(NAMES, TOTAL), id="none-at-all"),
        pytest.param(
            {"total": 1, "per_node": 1, "per_namespace": 1}, ("a1",), dict.fromkeys(NAMES[1:], TOTAL), id="total-first"
        ),
        pytest.param(
            {"per_node": 1, "per_namespace": 1},
            ("a1", "b2"),
            {"a2": PER_NODE, "a3": PER_NAMESPACE, "b1": PER_NODE},
            id="node-before-namespace",
        ),
    ],
)
def test_limits(limited, moved, stayed):
    cycle = trial({"S": suggesting(*NAMES)}, *NODES, *PODS, **limits(**limited))
    assert evicted(cycle) == list(moved)
    assert refused(cycle) == stayed


@pytest.mark.parametrize(
    ("limited", "verdict"),
    [
        ({"per_node": 1}, Verdict.NODE_LIMIT),
        ({"per_namespace": 1}, Verdict.REFUSED),
        ({"total": 1}, Verdict.TOTAL_LIMIT),
        ({}, Verdict.EVICTED),
    ],
    ids=["node", "namespace", "total", "none"],
)
def test_a_strategy_hears_which_limit_was_reached(limited, verdict):
    heard = []
    trial({"S": suggesting("a1", "a2", heard=heard)}, *NODES, *PODS, **limits(**limited))
    assert heard == [Verdict.EVICTED, verdict]


def test_limits_count_over_all_strategies_and_profiles():
    profiles = [a_profile("P", deschedule=("S",)), a_profile("Q", deschedule=("T",))]
    strategies = {"S": suggesting("a1"), "T": suggesting("a2", "b2")}
    cycle = trial(strategies, *NODES, *PODS, profiles=profiles, **limits(per_node=1))
    assert evicted(cycle) == ["a1", "b2"]
    assert refused(cycle) == {"a2": PER_NODE}


def test_limit_messages_are_upstreams():
    messages = []
    for limited in ({"per_node": 0}, {"per_namespace": 0}, {"total": 0}):
        cycle = trial({"S": suggesting("a1")}, *NODES, *PODS, **limits(**limited))
        messages += [each.reason[2] for each in cycle.record.refusals]
    assert messages == [
        "maximum number of evicted pods per node reached",
        "maximum number of evicted pods per namespace reached",
        "maximum number of evicted pods per a descheduling cycle reached",
    ]


def test_a_second_suggestion_of_a_pod_that_is_gone_is_refused_silently():
    heard = []
    cycle = trial({"S": suggesting("a1", "a1", heard=heard)}, *NODES, *PODS)
    assert heard == [Verdict.EVICTED, Verdict.REFUSED]
    assert evicted(cycle) == ["a1"]
    assert refused(cycle) == {}


def test_a_refused_pod_that_goes_later_is_no_refusal():
    strict = a_profile("P", deschedule=("S",), evictor={"labelSelector": {"matchLabels": {"x": "y"}}})
    free = a_profile("Q", deschedule=("S",))
    cycle = trial({"S": suggesting("a1")}, *NODES, *PODS, profiles=[strict, free])
    assert evicted(cycle) == ["a1"]
    assert refused(cycle) == {}


def test_a_refusal_is_noted_once_for_each_strategy_with_the_first_reason():
    profiles = [a_profile("P", deschedule=("S", "T"), evictor={"minReplicas": 9})]
    cycle = trial({"S": suggesting("a1", "a1"), "T": suggesting("a1")}, *NODES, *PODS, profiles=profiles)
    assert [(each.ref.plugin, each.reason[1]) for each in cycle.record.refusals] == [
        ("S", "MinReplicas"),
        ("T", "MinReplicas"),
    ]


@pytest.mark.parametrize(
    ("pending", "moved"),
    [(PendingFilters.ALL, []), (PendingFilters.PRE_EVICTION, ["bare"]), (PendingFilters.NOTHING, ["bare", "stuck"])],
    ids=["all", "pre-eviction", "nothing"],
)
def test_the_arbiter_makes_the_checks_that_are_owed(pending, moved):
    """A bare pod fails Filter, one that fits nowhere fails PreEvictionFilter."""
    pods = [a_pod("bare", node="n1"), a_pod("stuck", node="n1", owner=RS, node_selector={"no": "where"})]
    profiles = [a_profile(deschedule=("S",), evictor={"nodeFit": True})]
    cycle = trial({"S": suggesting("bare", "stuck", pending=pending)}, *NODES, *pods, profiles=profiles)
    assert evicted(cycle) == moved
    codes = {"bare": ("evictor", "NoOwner"), "stuck": ("placement", "NoFit")}
    assert refused(cycle) == {name: code for name, code in codes.items() if name not in moved}


def test_the_evictor_is_asked_before_the_limits_and_the_uid_between_them():
    pods = [a_pod("bare", node="n1"), a_pod("nameless", node="n1", owner=RS, uid=""), a_pod("ok", node="n1", owner=RS)]
    cycle = trial({"S": suggesting("bare", "nameless", "ok")}, *NODES, *pods, **limits(total=0))
    assert refused(cycle) == {"bare": ("evictor", "NoOwner"), "nameless": ("evictor", "MissingUID"), "ok": TOTAL}


def test_candidates_that_are_not_admissible_are_noted():
    """All of a listing are judged before its first eviction: three pods of a may go although three must stay."""
    pods = [*PODS, a_pod("bare", node="n1"), a_pod("stuck", node="n1", owner=RS, node_selector={"no": "where"})]
    profiles = [a_profile(deschedule=("S",), evictor={"nodeFit": True, "minReplicas": 3})]
    cycle = trial({"S": listing(*NAMES, "bare", "stuck")}, *NODES, *pods, profiles=profiles)
    assert evicted(cycle) == ["a1", "a2", "a3"]
    assert refused(cycle) == {
        "b1": ("evictor", "MinReplicas"),
        "b2": ("evictor", "MinReplicas"),
        "bare": ("evictor", "NoOwner"),
        "stuck": ("evictor", "MinReplicas"),
    }


def test_min_replicas_is_asked_anew_for_each_suggestion():
    profiles = [a_profile(deschedule=("S",), evictor={"minReplicas": 2})]
    cycle = trial({"S": suggesting("a1", "a2", "a3")}, *NODES, *PODS, profiles=profiles)
    assert evicted(cycle) == ["a1", "a2"]
    assert refused(cycle) == {"a3": ("evictor", "MinReplicas")}


def test_a_strategy_that_cannot_go_on_is_a_problem_and_its_evictions_stay():
    cycle = trial({"F": failing("a1"), "S": suggesting("a2")}, *NODES, *PODS)
    assert [(ref.profile, ref.plugin, text) for ref, text in cycle.record.problems] == [
        ("P", "F", "no metrics for node n1")
    ]
    assert evicted(cycle) == ["a1", "a2"]


def test_an_eviction_tells_where_why_and_by_whom():
    (eviction,) = trial({"S": suggesting("b2")}, *NODES, *PODS).record.evictions
    assert (eviction.node, eviction.ref.profile, eviction.ref.plugin, eviction.reason) == (
        1,
        "P",
        "S",
        "b2 should move",
    )
