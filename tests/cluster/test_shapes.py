"""Pod shapes: equal for pods that scheduling cannot tell apart, different for all others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from builders import (
    EMPTY_DIR,
    ZONE,
    a_node,
    a_pdb,
    a_pod,
    a_replica_set,
    a_service,
    a_workload,
    claim_volume,
    node_affinity,
    node_term,
    pod_affinity,
    pod_anti_affinity,
    pod_term,
    requirement,
    selector,
    spread,
)
from cluster.drawn import pods
from descheduling.harness import a_cluster
from restow.cluster.shapes import mentioned_keys, pod_shapes

NODE = a_node("n1")
TERM = pod_term(
    selector(("e", "Exists"), labels={"l": "x"}), topology=ZONE, match_label_keys=["m"], mismatch_label_keys=["n"]
)


@pytest.mark.parametrize(
    ("objects", "keys"),
    [
        pytest.param([a_pod("p", labels={"app": "x"})], set(), id="labels-are-no-selector"),
        pytest.param([a_pod("p", affinity=pod_affinity([TERM]))], {"l", "e", "m", "n"}, id="affinity"),
        pytest.param([a_pod("p", affinity=pod_affinity(preferred=[(1, TERM)]))], {"l", "e", "m", "n"}, id="preferred"),
        pytest.param([a_pod("p", affinity=pod_anti_affinity([TERM]))], {"l", "e", "m", "n"}, id="anti-affinity"),
        pytest.param(
            [a_pod("p", spread=[spread(1, ZONE, selector(labels={"l": "x"}), match_label_keys=["m"])])],
            {"l", "m"},
            id="spread",
        ),
        pytest.param([a_pod("p", affinity=node_affinity([node_term(("zone", "Exists"))]))], set(), id="node-labels"),
        pytest.param([a_pdb("x", selector=selector(("e", "Exists")))], {"e"}, id="budget"),
        pytest.param([a_pdb("x")], set(), id="budget-without-selector"),
        pytest.param([a_service("s", selector={"svc": "x"}), a_service("t")], {"svc"}, id="service"),
        pytest.param([a_replica_set("r", selector={"matchLabels": {"rs": "x"}})], {"rs"}, id="ReplicaSet"),
        pytest.param(
            [a_workload("StatefulSet", "s", selector={"matchExpressions": [requirement("ss", "Exists")]})],
            {"ss"},
            id="StatefulSet",
        ),
        pytest.param([a_workload("ReplicationController", "c", selector={"rc": "x"})], {"rc"}, id="RC"),
    ],
)
def test_mentioned_keys(objects, keys):
    assert mentioned_keys(a_cluster(NODE, *objects)) == keys
    assert mentioned_keys(a_cluster(NODE, *objects), ["policy"]) == keys | {"policy"}


def shapes(*built, keys=frozenset()):
    """The shape of each pod; pods are given in canonical order."""
    return pod_shapes(a_cluster(NODE, *built), frozenset(keys)).of_pod.tolist()


def test_names_template_hashes_owners_and_states_make_no_shape():
    one = a_pod("a", labels={"app": "x", "pod-template-hash": "1"}, owner=("ReplicaSet", "r1"), node="n1")
    two = a_pod("b", labels={"app": "x", "pod-template-hash": "2"}, owner=("ReplicaSet", "r2"), phase="Running")
    assert shapes(one, two, keys={"app"}) == [0, 0]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"namespace": "other"}, id="namespace"),
        pytest.param({"labels": {"app": "x"}}, id="mentioned-label"),
        pytest.param({"cpu": "2"}, id="requests"),
        pytest.param({"tolerations": ["gpu"]}, id="tolerations"),
        pytest.param({"node_selector": {"zone": "a"}}, id="nodeSelector"),
        pytest.param({"affinity": pod_affinity([TERM])}, id="affinity"),
        pytest.param({"spread": [spread()]}, id="spread"),
        pytest.param({"images": ["web:1"]}, id="image"),
        pytest.param({"volumes": [claim_volume("data")]}, id="claim"),
        pytest.param({"priority": 1}, id="priority"),
    ],
)
def test_what_scheduling_looks_at_makes_a_shape(other):
    assert len(set(shapes(a_pod("a"), a_pod("b", **other), keys={"app"}))) == 2


def test_local_volumes_make_no_shape():
    assert shapes(a_pod("a"), a_pod("b", volumes=[EMPTY_DIR])) == [0, 0]


@given(pods())
@settings(max_examples=40, deadline=None)
def test_every_pod_is_like_the_example_of_its_shape(drawn):
    cluster = a_cluster(NODE, *drawn)
    found, columns = pod_shapes(cluster, frozenset({"app"})), cluster.pods
    assert len(found) == len(found.labels) == len(set(found.of_pod.tolist()))
    for pod, shape in enumerate(found.of_pod.tolist()):
        example = found.example[shape]
        for name in ("namespace", "resources", "tolerations", "rules", "spread", "images", "volumes", "priority"):
            assert getattr(columns, name)[pod] == getattr(columns, name)[example]
        labels = columns.tables.labels[columns.labels[pod]]
        assert found.labels[shape] == {key: value for key, value in labels.items() if key == "app"}


def test_no_pods_have_no_shapes():
    assert len(pod_shapes(a_cluster(NODE), frozenset())) == 0
