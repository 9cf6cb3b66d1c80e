"""Upstream's nodeFit; ids ND and NF are rows of the Descheduler's own test tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import (
    ZONE,
    a_container,
    a_node,
    a_pod,
    a_taint,
    node_affinity,
    node_term,
    pod_anti_affinity,
    pod_term,
    requirement,
    selector,
    std_node,
)
from cluster.drawn import nodes, pods
from descheduling.harness import a_cluster
from restow.cluster.pod_classes import LabelGroups
from restow.cluster.state import ClusterState
from restow.descheduling.node_fit import NodeFit

GI9 = 10**9
ANTI_A = pod_anti_affinity([pod_term(selector(labels={"app": "a"}), topology="region")])


def a_fit(*objects):
    """The fit of a state, the state, and the number of the pod that is called ``p``."""
    state = ClusterState(a_cluster(*objects))
    return NodeFit(state, LabelGroups(state.cluster.pods)), state, state.cluster.pods.names.index("p")


def explanation(*objects):
    """Why ``p`` fits no other node; None where it fits."""
    fit, state, pod = a_fit(*objects)
    everywhere = np.ones(len(state.cluster.nodes), dtype=bool)
    if fit.fits_any_other(pod, everywhere):
        return None
    return fit.explain(pod, everywhere)


BIG = {"cpu": 64000, "memory": 128 * GI9}


@pytest.mark.parametrize(
    ("node", "residents", "pod", "reason"),
    [
        pytest.param(std_node("n", **BIG, pods=2), [a_pod("x", node="n", cpu="60")], {"cpu": "10"}, "insufficient cpu", id="ND-05"),
        pytest.param(std_node("n", **BIG, pods=2), [a_pod("x", node="n"), a_pod("y", node="n")], {}, "insufficient pods", id="ND-06"),
        pytest.param(
            std_node("n", **BIG), [a_pod("x", node="n", labels={"app": "a"})], {"affinity": ANTI_A}, None, id="ND-10"
        ),
        pytest.param(
            std_node("n", **BIG, labels={"region": "r"}),
            [a_pod("x", node="n", labels={"app": "a"})],
            {"affinity": ANTI_A},
            "anti-affinity",
            id="anti-affinity",
        ),
        pytest.param(
            std_node("n", **BIG),
            [],
            {"init_containers": [a_container(requests={"cpu": "100"}, restart_policy="Always")]},
            "insufficient cpu",
            id="ND-11",
        ),
        pytest.param(
            std_node("n", **BIG),
            [],
            {"init_containers": [a_container(requests={"cpu": "100m", "memory": "1e8"}, restart_policy="Always")]},
            None,
            id="ND-13",
        ),
        pytest.param(std_node("n", **BIG), [], {"spec": {"overhead": {"cpu": "100"}}}, "insufficient cpu", id="ND-14"),
        pytest.param(std_node("n", **BIG), [], {"spec": {"overhead": {"cpu": "1m", "memory": "1e6"}}}, None, id="ND-15"),
        pytest.param(std_node("n", cpu=100), [], {"cpu": "100m"}, None, id="exactly-enough"),
        pytest.param(std_node("n", cpu=99), [], {"cpu": "100m"}, "insufficient cpu", id="one-too-few"),
        pytest.param(a_node("n", cpu=None), [], {"cpu": "0"}, None, id="zero-of-what-the-node-does-not-list"),
        pytest.param(a_node("n", cpu=None), [], {"cpu": None}, None, id="no-request"),
        pytest.param(a_node("n", cpu=None), [a_pod("x", node="n")], {"cpu": "0"}, "insufficient cpu", id="zero-of-less"),
        pytest.param(a_node("n"), [], {"requests": {"gpu": "0"}}, None, id="zero-of-unknown-resource"),
        pytest.param(a_node("n"), [], {"requests": {"gpu": "1"}}, "insufficient gpu", id="unknown-resource"),
        pytest.param(
            a_node("n"),
            [a_pod("x", node="n", requests={"gpu": "3"})],
            {"requests": {"gpu": "0"}},
            None,
            id="zero-of-an-unlisted-resource-that-is-used",
        ),
        pytest.param(a_node("n", pods=0), [], {}, "insufficient pods", id="no-slots"),
        pytest.param(a_node("n", pods=None), [], {}, "insufficient pods", id="slots-not-listed"),
        pytest.param(a_node("n", pods=1), [a_pod("x", node="n", phase="Failed")], {}, None, id="pods-that-are-over-leave"),
        pytest.param(
            a_node("n", pods=1),
            [a_pod("x", node="n", deleted="2026-01-01T00:00:00Z")],
            {},
            "insufficient pods",
            id="terminating-pods-stay",
        ),
        pytest.param(a_node("n", unschedulable=True), [], {}, "unschedulable", id="unschedulable"),
        pytest.param(
            a_node("n", unschedulable=True), [], {"tolerations": [""]}, "unschedulable", id="unschedulable-is-not-tolerated"
        ),
        pytest.param(a_node("n"), [], {"node_selector": {"a": "b"}}, "node selector or affinity", id="nodeSelector"),
        pytest.param(
            a_node("n"), [], {"affinity": node_affinity([node_term(("a", "Exists"))])}, "node selector or affinity", id="affinity"
        ),
        pytest.param(
            a_node("n"),
            [],
            {"affinity": node_affinity([node_term(("a b", "Exists"))])},
            "node selector or affinity",
            id="affinity-that-does-not-parse",
        ),
        pytest.param(
            a_node("n"), [], {"affinity": node_affinity(preferred=[(1, node_term(("a", "Exists")))])}, None, id="preferred"
        ),
        pytest.param(a_node("n", taints=["a=b:NoSchedule"]), [], {}, "untolerated taint", id="NoSchedule"),
        pytest.param(a_node("n", taints=["a=b:NoExecute"]), [], {}, "untolerated taint", id="NoExecute"),
        pytest.param(a_node("n", taints=["a=b:PreferNoSchedule"]), [], {}, None, id="PreferNoSchedule"),
        pytest.param(a_node("n", taints=["a=b:NoSchedule"]), [], {"tolerations": ["a"]}, None, id="tolerated"),
        pytest.param(
            a_node("n", taints=["a=b:NoSchedule", "c:NoExecute"]), [], {"tolerations": ["a"]}, "untolerated taint", id="one-of-two"
        ),
        pytest.param(
            a_node("n", taints=["sla=950:NoSchedule"]),
            [],
            {"tolerations": [{"key": "sla", "operator": "Gt", "value": "900"}]},
            None,
            id="Gt",
        ),
    ],
)  # fmt: skip
def test_one_node(node, residents, pod, reason):
    expected = None if reason is None else f"1 {reason}"
    assert explanation(node, *residents, a_pod("p", **pod)) == expected


@pytest.mark.parametrize(
    ("term", "other", "repelled"),
    [
        pytest.param({}, {}, True, id="matches"),
        pytest.param({}, {"labels": {"app": "b"}}, False, id="other-labels"),
        pytest.param({}, {"namespace": "other"}, False, id="other-namespace"),
        pytest.param({"namespaces": ["other"]}, {"namespace": "other"}, True, id="named-namespace"),
        pytest.param({"namespaces": ["other"]}, {}, False, id="own-namespace-not-named"),
        pytest.param({"namespace_selector": {}}, {"namespace": "other"}, False, id="namespaceSelector-is-ignored"),
        pytest.param({"match_label_keys": ["app"]}, {}, True, id="matchLabelKeys-are-ignored"),
        pytest.param({"label_selector": None}, {}, False, id="absent-selector-matches-nothing"),
        pytest.param({"label_selector": {}}, {"labels": {}}, True, id="empty-selector-matches-everything"),
        pytest.param({"topology": "no-such-key"}, {}, False, id="the-key-must-exist"),
        pytest.param({"topology": ZONE}, {}, True, id="zone"),
        pytest.param({}, {"node": "n2"}, False, id="other-node-of-the-same-zone"),
        pytest.param({}, {"phase": "Succeeded"}, False, id="a-pod-that-is-over"),
        pytest.param({}, {"deleted": "2026-01-01T00:00:00Z"}, True, id="a-terminating-pod"),
        pytest.param({}, {"name": "p", "namespace": "other"}, False, id="own-name"),
        pytest.param({"namespaces": ["other"]}, {"name": "p", "namespace": "other"}, False, id="a-namesake"),
    ],
)
def test_anti_affinity_looks_at_the_pods_of_the_node_alone(term, other, repelled):
    term = {"label_selector": selector(labels={"app": "a"}), "topology": ZONE} | term
    labels = {ZONE: "z"}
    counterpart = {"name": "q", "node": "n1", "labels": {"app": "a"}} | other
    objects = [
        a_node("n1", labels=labels),
        a_node("n2", labels=labels, unschedulable=True),
        a_node("n3", labels=labels),
    ]
    pod = a_pod("p", node="n3", affinity=pod_anti_affinity([pod_term(**term)]))
    state = ClusterState(a_cluster(*objects, pod, a_pod(counterpart.pop("name"), **counterpart)))
    number = next(i for i in range(2) if state.cluster.pods.full_name(i) == "default/p")
    fit = NodeFit(state, LabelGroups(state.cluster.pods))
    assert fit.fits_any_other(number, np.ones(3, dtype=bool)) is not repelled


def test_an_anti_affinity_selector_that_does_not_compile_fits_nowhere():
    bad = pod_anti_affinity([pod_term({"matchExpressions": [requirement("a", "Near")]})])
    assert explanation(a_node("n1"), a_node("n2"), a_pod("p", affinity=bad)) == "2 anti-affinity"


def test_only_the_pods_own_terms_count_and_no_affinity():
    others = [a_pod("q", node="n1", affinity=pod_anti_affinity([pod_term(selector(), topology=ZONE)]))]
    wants = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [pod_term(selector(labels={"x": "y"}))]}}
    assert explanation(a_node("n1", labels={ZONE: "z"}), *others, a_pod("p", affinity=wants)) is None


# PodFitsAnyOtherNode: p is on a staging node without room and asks for desiredNode=yes.

YES, NO = {"desiredNode": "yes"}, {"desiredNode": "no"}
STAGING = std_node("staging", 0, 0, 0)
WIDE = {**BIG, "pods": 200}
TAINT = [a_taint("hardware=gpu:NoSchedule")]


def used(**requests):
    return a_pod("q", node="n2", **({"cpu": "0", "memory": "0"} | requests))


@pytest.mark.parametrize(
    ("node1", "node2", "residents", "request_", "fits"),
    [
        pytest.param({"labels": YES}, {"labels": NO}, [], {}, True, id="NF-01"),
        pytest.param({"labels": NO}, {"labels": YES}, [], {}, True, id="NF-02"),
        pytest.param({"labels": {"desiredNode": "unfit1"}}, {"labels": {"desiredNode": "unfit2"}}, [], {}, False, id="NF-03"),
        pytest.param({"labels": YES, "unschedulable": True}, {"labels": NO}, [], {}, False, id="NF-04"),
        pytest.param(
            {"labels": YES, "taints": TAINT},
            {"labels": YES, "extended": {"ephemeral-storage": 200 * GI9}},
            [used(cpu="12", memory="20e9", requests={"ephemeral-storage": "40e9"})],
            {"cpu": "2", "memory": "2e9", "requests": {"ephemeral-storage": "10e9"}},
            True,
            id="NF-06",
        ),
        pytest.param({"taints": TAINT, "labels": YES}, {"labels": YES, "cpu": 4000}, [used(cpu="3")], {"cpu": "2"}, False, id="NF-07"),
        pytest.param(
            {"taints": TAINT, "labels": YES}, {"labels": YES, "memory": 8 * GI9}, [used(memory="4e9")], {"memory": "5e9"}, False, id="NF-08"
        ),
        pytest.param(
            {"taints": TAINT, "labels": YES},
            {"labels": YES, "extended": {"ephemeral-storage": 20 * GI9}},
            [used(requests={"ephemeral-storage": "11e9"})],
            {"requests": {"ephemeral-storage": "10e9"}},
            False,
            id="NF-09",
        ),
        pytest.param(
            {"taints": TAINT, "labels": YES},
            {"labels": YES, "extended": {"custom": 15}},
            [used(requests={"custom": "10"})],
            {"requests": {"custom": "10"}},
            False,
            id="NF-10",
        ),
        pytest.param(
            {"taints": TAINT, "labels": YES},
            {"labels": YES, "cpu": 5000},
            [used(cpu="2", spec={"overhead": {"cpu": "1"}})],
            {"cpu": "1"},
            True,
            id="NF-11",
        ),
        pytest.param(
            {"taints": TAINT, "labels": YES},
            {"labels": YES, "cpu": 5000},
            [used(cpu="2", spec={"overhead": {"cpu": "2"}})],
            {"cpu": "2"},
            False,
            id="NF-12",
        ),
        pytest.param(
            {"taints": TAINT, "labels": YES},
            {"labels": YES, "cpu": 3000},
            [used(cpu="2", spec={"overhead": {"cpu": "1"}})],
            {"cpu": "1"},
            False,
            id="NF-13",
        ),
    ],
)  # fmt: skip
def test_any_other_node(node1, node2, residents, request_, fits):
    first, second = std_node("n1", **(WIDE | node1)), std_node("n2", **(WIDE | node2))
    pod = a_pod("p", node="staging", node_selector=YES, **({"cpu": "0", "memory": "0"} | request_))
    assert (explanation(STAGING, first, second, *residents, pod) is None) is fits


def test_the_own_node_counts_for_any_node_without_a_check_of_its_resources():
    full = std_node("n1", 100, 0, 1)
    fit, _, pod = a_fit(full, a_node("n2", unschedulable=True), a_pod("p", node="n1", cpu="5"))
    everywhere = np.ones(2, dtype=bool)
    assert fit.fits_any(pod, everywhere)
    assert not fit.fits_any_other(pod, everywhere)
    assert not fit.fits_any(pod, np.array([False, True]))


@pytest.mark.parametrize(
    "own",
    [
        pytest.param(a_node("n1", unschedulable=True), id="unschedulable"),
        pytest.param(a_node("n1", taints=["a:NoSchedule"]), id="tainted"),
        pytest.param(a_node("n1", labels={"wrong": "x"}), id="selector"),
    ],
)
def test_the_own_node_must_pass_all_other_rules(own):
    selects = {"node_selector": {"right": "x"}} if "labels" in own["metadata"] else {}
    fit, _, pod = a_fit(own, a_pod("p", node="n1", **selects))
    assert not fit.fits_any(pod, np.ones(1, dtype=bool))


def test_a_pending_pod_has_no_own_node():
    fit, _, pod = a_fit(a_node("n1"), a_pod("p"))
    assert fit.fits_any(pod, np.ones(1, dtype=bool))
    assert fit.fits_any_other(pod, np.ones(1, dtype=bool))
    assert not fit.fits_any(pod, np.zeros(1, dtype=bool))


@given(st.tuples(nodes(), pods()), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_answers_follow_the_state(objects, choice):
    """An answer that was kept and refreshed is the same as one from nothing, however the state came about."""
    state = ClusterState(a_cluster(*objects[0], *objects[1]))
    labels = LabelGroups(state.cluster.pods)
    kept, everywhere = NodeFit(state, labels), np.ones(len(state.cluster.nodes), dtype=bool)
    for _ in range(4 if len(state.exists) else 0):
        fresh = NodeFit(state, labels)
        for pod in range(len(state.exists)):
            for ask in ("fits_any", "fits_any_other", "explain"):
                assert getattr(kept, ask)(pod, everywhere) == getattr(fresh, ask)(pod, everywhere)
        mark, pod = state.checkpoint(), choice.randrange(len(state.exists))
        if state.exists[pod]:
            state.remove(pod)
        else:
            state.place(pod, choice.randrange(len(state.cluster.nodes)))
        if choice.random() < 0.3:
            state.undo(mark)


def test_a_resource_that_is_claimed_as_devices_need_not_be_listed() -> None:
    state = ClusterState(
        a_cluster(std_node("n1"), std_node("n2"), a_pod("p", node="n1", requests={"example.com/gpu": "1"}))
    )
    labels, everywhere = LabelGroups(state.cluster.pods), np.ones(2, dtype=bool)
    assert not NodeFit(state, labels).fits_any_other(0, everywhere)
    assert NodeFit(state, labels, {"example.com/gpu"}).fits_any_other(0, everywhere)
