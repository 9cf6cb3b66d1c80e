"""Labels make a difference where a selector mentions their key, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from builders import ZONE, a_node, a_pdb, a_pod, a_replica_set, a_service, a_workload, selector, spread
from builders.affinity import node_affinity, node_term, pod_affinity, pod_anti_affinity, pod_term, requirement
from descheduling.harness import a_cluster
from restow.cluster.pod_columns import MentionedLabels
from restow.cluster.pods import Pods
from restow.cluster.state import ClusterState
from restow.kube.objects import PodAffinity, PodAffinityTerm

NODE = a_node("n1")
KEYS = ("e", "l", "m", "n", "zone")
TERM = pod_term(
    selector(("e", "Exists"), labels={"l": "x"}), topology=ZONE, match_label_keys=["m"], mismatch_label_keys=["n"]
)


def mentioned(*objects: dict[str, Any]) -> set[str]:
    """The keys among ``KEYS`` that are mentioned: a pod with that label is seen otherwise than one without labels."""
    labelled = [a_pod(f"a-{key}", labels={key: "x"}) for key in KEYS]
    cluster = a_cluster(NODE, *labelled, a_pod("b"), *objects)
    seen, labels = MentionedLabels(cluster).seen, cluster.pods.labels
    bare = seen[labels[len(KEYS)]]
    return {key for pod, key in enumerate(KEYS) if seen[labels[pod]] != bare}


@pytest.mark.parametrize(
    ("objects", "keys"),
    [
        pytest.param([], set(), id="labels-are-no-selector"),
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
        pytest.param([a_service("s", selector={"l": "x"}), a_service("t")], {"l"}, id="service"),
        pytest.param([a_replica_set("r", selector={"matchLabels": {"m": "x"}})], {"m"}, id="ReplicaSet"),
        pytest.param(
            [a_workload("StatefulSet", "s", selector={"matchExpressions": [requirement("n", "Exists")]})],
            {"n"},
            id="StatefulSet",
        ),
        pytest.param([a_workload("ReplicationController", "c", selector={"l": "x"})], {"l"}, id="RC"),
    ],
)
def test_a_key_counts_where_a_selector_mentions_it(objects: list[dict[str, Any]], keys: set[str]) -> None:
    assert mentioned(*objects) == keys


def test_pods_that_come_may_bring_labels_and_selectors() -> None:
    """The sets that carry a key are seen otherwise once it is mentioned; what is seen of all others stays the same."""
    cluster = a_cluster(NODE, a_pod("a"), a_pod("b", labels={"m": "x"}), a_pod("c", labels={"m": "y", "l": "x"}))
    state = ClusterState(cluster)
    pods, labels = state.cluster.pods, MentionedLabels(state.cluster)
    bare, one, other = pods.labels.tolist()
    before = labels.seen[bare]
    assert {labels.seen[each] for each in (one, other)} == {before}
    assert labels.catch_up().tolist() == []
    new = pods.intern("labels", {"m": "x", "l": "z"})
    mention(pods, "m")
    assert labels.catch_up().tolist() == sorted((one, other))
    assert labels.seen[bare] == before
    assert labels.seen[one] == labels.seen[new] != before
    assert labels.seen[other] not in {before, labels.seen[one]}


def mention(pods: Pods, key: str) -> int:
    """Put rules that mention a key into the table; their identifier."""
    term = msgspec.convert(pod_term(selector((key, "Exists"))), PodAffinityTerm)
    return pods.intern("rules", replace(pods.tables.rules[0], pod_affinity=PodAffinity(required=(term,))))
