"""Owners: counts by uid, and the workload that people know."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from builders import Owner, a_deployment, a_node, a_pod, a_replica_set, a_workload
from cluster.drawn import pods
from descheduling.harness import a_cluster
from restow.cluster.owners import OwnerCounts, workload_of
from restow.cluster.state import ClusterState

NODE = a_node("n1")


def workload(pod, *others):
    found = workload_of(a_cluster(NODE, pod, *others), 0)
    return None if found is None else (found.kind, found.name)


@pytest.mark.parametrize(
    ("pod", "others", "expected"),
    [
        pytest.param(a_pod("p"), [], None, id="bare"),
        pytest.param(a_pod("p", owner=("StatefulSet", "s")), [], ("StatefulSet", "s"), id="direct"),
        pytest.param(a_pod("p", owner=("ReplicaSet", "r")), [], ("ReplicaSet", "r"), id="input-has-no-ReplicaSet"),
        pytest.param(
            a_pod("p", owner=("ReplicaSet", "r")),
            [a_replica_set("r", deployment="d")],
            ("Deployment", "d"),
            id="Deployment",
        ),
        pytest.param(
            a_pod("p", owner=("ReplicaSet", "r")), [a_replica_set("r")], ("ReplicaSet", "r"), id="ReplicaSet-of-nobody"
        ),
        pytest.param(
            a_pod("p", owner=("ReplicaSet", "r")),
            [a_replica_set("r", namespace="other", deployment="d")],
            ("ReplicaSet", "r"),
            id="other-namespace",
        ),
        pytest.param(
            a_pod("p", owner=("Job", "j")),
            [a_workload("Job", "j", owner=("CronJob", "c"))],
            ("CronJob", "c"),
            id="CronJob",
        ),
        pytest.param(
            a_pod("p", owner=("DaemonSet", "d")), [a_deployment("d")], ("DaemonSet", "d"), id="nothing-above-it"
        ),
    ],
)
def test_workload(pod, others, expected):
    assert workload(pod, *others) == expected


def test_of_several_owners_the_controller_counts():
    pod = a_pod("p", owner=[("Custom", "first"), ("StatefulSet", "second")])
    pod["metadata"]["ownerReferences"][0]["controller"] = False
    assert workload(pod) == ("StatefulSet", "second")
    del pod["metadata"]["ownerReferences"][0]["controller"]
    pod["metadata"]["ownerReferences"][1]["controller"] = None
    assert workload(pod) == ("Custom", "first")


@given(pods())
@settings(max_examples=30, deadline=None)
def test_counts_are_those_of_a_look_at_every_pod(drawn):
    found = a_cluster(NODE, *drawn).pods
    owners = [found.tables.owners[each] for each in found.owners]
    exists = np.arange(len(found)) % 2 == 0
    expected = Counter(uid for each in owners[::2] for uid in {owner.uid for owner in each})
    counts = OwnerCounts(found, exists)
    for pod, of_pod in enumerate(owners):
        assert sorted(counts.of_pod(pod)) == sorted(expected[uid] for uid in {owner.uid for owner in of_pod})
        siblings = expected[of_pod[0].uid] if len(of_pod) == 1 else -1
        assert counts.siblings(np.array([pod])).tolist() == [siblings]


def test_an_owner_named_twice_is_one_uid_but_not_the_only_owner():
    """Upstream counts references, and asks minReplicas only of pods with exactly one."""
    twice = [Owner("ReplicaSet", "r"), Owner("ReplicaSet", "r")]
    counts = OwnerCounts(a_cluster(NODE, a_pod("p", owner=twice)).pods, np.ones(1, dtype=bool))
    assert counts.siblings(np.array([0])).tolist() == [-1]
    assert counts.of_pod(0).tolist() == [1]


def test_no_pods_have_no_owners():
    nobody = np.zeros(0, dtype=np.int64)
    assert OwnerCounts(a_cluster(NODE).pods, nobody.astype(bool)).siblings(nobody).tolist() == []


def test_a_uid_that_a_pod_of_another_namespace_names_is_another_owner():
    """Whoever may create pods may name any uid: that neither adds to minReplicas of others nor takes from it."""
    web = Owner("ReplicaSet", "web", "uid-of-web")
    pods = [a_pod("mine", owner=web), *(a_pod(f"p{at}", namespace="tenant", owner=web) for at in range(5))]
    state = ClusterState(a_cluster(NODE, *pods))
    assert state.siblings(np.arange(6)).tolist() == [1, 5, 5, 5, 5, 5]
    state.remove(state.cluster.pods.names.index("p3"))
    assert state.siblings(np.arange(2)).tolist() == [1, 4]
    state.validate()
