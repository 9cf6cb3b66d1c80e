"""The pods that controllers would create: they take over the template and nothing of the past."""

from __future__ import annotations

from typing import Any

import numpy as np

from builders import a_condition, a_node, a_pod, a_pvc, ago, terminated
from descheduling.harness import a_cluster
from restow.cluster.pod_values import Flag, Phase
from restow.cluster.pods import NO_POD, PENDING
from restow.cluster.state import ClusterState
from restow.workloads.replacements import Replacements

NOW = 1_000_000


def replaced(*objects: dict[str, Any]) -> ClusterState:
    """A state where every pod has a replacement that does not exist yet."""
    state = ClusterState(a_cluster(a_node("n1"), *objects))
    replacements = Replacements(state, NOW)
    for pod, _ in enumerate(list(state.cluster.pods.names)):
        replacements.of(pod)
    return state


def test_a_replacement_comes_right_after_its_pod_in_canonical_order() -> None:
    pods = replaced(a_pod("a", node="n1"), a_pod("b", node="n1")).cluster.pods
    assert pods.where(np.arange(len(pods)) < 4).tolist() == [0, 2, 1, 3]
    assert pods.names[:4] == ["a", "b", "a", "b"]
    assert pods.replaces[:4].tolist() == [NO_POD, NO_POD, 0, 1]
    assert len(set(pods.uids[:4])) == 4


def test_a_replacement_is_made_once() -> None:
    state = replaced(a_pod("a", node="n1"))
    replacements = Replacements(state, NOW)
    assert replacements.of(0) == 1
    assert sum(map(bool, state.cluster.pods.names)) == 2


def test_a_replacement_has_replacements_too() -> None:
    """Any number of them, each right after the one that it replaces."""
    state = replaced(a_pod("a", node="n1"), a_pod("b", node="n1"))
    replacements = Replacements(state, NOW)
    second = replacements.of(replacements.of(0))
    third = replacements.of(second)
    pods = state.cluster.pods
    assert pods.where(np.arange(len(pods)) < 6).tolist() == [0, 2, second, third, 1, 3]
    assert {pods.original(pod) for pod in (2, second, third)} == {0}


def test_the_cluster_that_was_given_has_no_replacements() -> None:
    cluster = a_cluster(a_node("n1"), a_pod("a", node="n1"))
    Replacements(ClusterState(cluster), NOW).of(0)
    assert cluster.pods.names == ["a"]
    assert cluster.pods.replaced_by.tolist() == [NO_POD]


def test_the_replacement_of_a_pod_without_uid_has_none() -> None:
    assert replaced(a_pod("a", node="n1", uid="")).cluster.pods.uids[:2] == ["", ""]


def test_a_replacement_takes_over_what_rules_look_at() -> None:
    pod = a_pod(
        "a", node="n1", cpu="250m", labels={"app": "web"}, tolerations=["gpu"], priority=7, owner=("ReplicaSet", "web")
    )
    pods = replaced(pod).cluster.pods
    for column in (pods.labels, pods.resources, pods.tolerations, pods.priority, pods.owners, pods.namespace):
        assert column[0] == column[1]


def test_a_replacement_is_new_and_healthy_and_nowhere() -> None:
    old = a_pod(
        "a",
        node="n1",
        created=ago(99),
        started=ago(99),
        deleted=ago(-30),
        phase="Unknown",
        statuses=[terminated("Error", restarts=7)],
        conditions=[a_condition("Ready", "False")],
        nominated_node="n1",
    )
    pods = replaced(old).cluster.pods
    assert (pods.node[1], pods.nominated[1]) == (PENDING, PENDING)
    assert (pods.created[1], pods.started[1], pods.phase[1]) == (NOW, NOW, Phase.RUNNING)
    assert pods.flags[0] & Flag.TERMINATING
    assert not pods.flags[1] & Flag.TERMINATING
    assert pods.tables.states[pods.states[1]].containers == ()
    (ready,) = pods.tables.conditions[pods.conditions[1]]
    assert (ready.type, ready.status) == ("Ready", "True")


def test_replacements_do_not_exist_until_they_are_placed() -> None:
    state = replaced(a_pod("a", node="n1", cpu="1"))
    assert state.exists[:2].tolist() == [True, False]
    assert state.running.tolist() == [1]
    state.remove(0)
    state.place(1, 0)
    state.validate()
    assert state.exists[:2].tolist() == [False, True]
    assert state.running.tolist() == [1]


def test_the_claims_of_a_replacement_stay_when_changes_are_undone() -> None:
    """So does its row: who asks for the replacement again gets the same one, and its claims have to be there."""
    volumes = [{"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    state = ClusterState(a_cluster(a_node("n1"), a_pod("a", node="n1", volumes=volumes), a_pvc("a-own", volume="pv-1")))
    before = state.checkpoint()
    new = Replacements(state, NOW).of(0)
    state.remove(0)
    state.place(new, 0)
    state.undo(before)
    assert not state.exists[new]
    assert ("default", "a-own+replacement") in state.cluster.kind("PersistentVolumeClaim")


def test_ephemeral_volumes_are_new_and_others_are_shared() -> None:
    volumes = [
        {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        {"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}},
    ]
    claims = [a_pvc("a-own", volume="pv-1"), a_pvc("shared", volume="pv-2")]
    cluster = replaced(a_pod("a", node="n1", volumes=volumes), *claims).cluster
    tables, pods = cluster.pods.tables, cluster.pods
    old, new = (tables.volumes[pods.volumes[row]] for row in (0, 1))
    assert [each.claim for each in old] == ["a-own", "shared"]
    assert [each.claim for each in new] == ["a-own+replacement", "shared"]
    known = cluster.kind("PersistentVolumeClaim")
    claim = known["default", "a-own+replacement"]
    assert (claim.spec.volume_name, claim.status.phase) == ("", "Pending")
    assert [each.uid for each in claim.metadata.owner_references] == [pods.uids[1]]
    assert known["default", "a-own"].spec.volume_name == "pv-1"
