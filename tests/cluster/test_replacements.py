"""The pods that controllers would create: twins that take over the template and nothing of the past."""

from __future__ import annotations

from typing import Any

from builders import a_condition, a_node, a_pod, a_pvc, ago, terminated
from descheduling.harness import a_cluster
from restow.cluster.pods import PENDING, Flag, Phase
from restow.cluster.replacements import twin_of, with_replacements
from restow.cluster.snapshot import Cluster
from restow.cluster.state import ClusterState

NOW = 1_000_000


def twinned(*objects: dict[str, Any]) -> Cluster:
    return with_replacements(a_cluster(a_node("n1"), *objects), NOW)


def test_a_twin_follows_its_pod() -> None:
    pods = twinned(a_pod("a", node="n1"), a_pod("b", node="n1")).pods
    assert pods.names == ("a", "a", "b", "b")
    assert pods.observed.tolist() == [True, False, True, False]
    assert [twin_of(row) for row in range(4)] == [1, 0, 3, 2]
    assert len(set(pods.uids)) == 4


def test_a_pod_without_uid_has_a_twin_without() -> None:
    assert twinned(a_pod("a", node="n1", uid="")).pods.uids == ("", "")


def test_a_twin_takes_over_what_rules_look_at() -> None:
    pod = a_pod(
        "a", node="n1", cpu="250m", labels={"app": "web"}, tolerations=["gpu"], priority=7, owner=("ReplicaSet", "web")
    )
    pods = twinned(pod).pods
    for column in (pods.labels, pods.resources, pods.tolerations, pods.priority, pods.owners, pods.namespace):
        assert column[0] == column[1]


def test_a_twin_is_new_and_healthy_and_nowhere() -> None:
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
    pods = twinned(old).pods
    assert (pods.node[1], pods.nominated[1]) == (PENDING, PENDING)
    assert (pods.created[1], pods.started[1], pods.phase[1]) == (NOW, NOW, Phase.RUNNING)
    assert pods.flags[0] & Flag.TERMINATING
    assert not pods.flags[1] & Flag.TERMINATING
    assert pods.tables.states[pods.states[1]].containers == ()
    (ready,) = pods.tables.conditions[pods.conditions[1]]
    assert (ready.type, ready.status) == ("Ready", "True")


def test_twins_do_not_exist_until_they_are_placed() -> None:
    state = ClusterState(twinned(a_pod("a", node="n1", cpu="1")))
    assert state.exists.tolist() == [True, False]
    assert state.running.tolist() == [1]
    state.remove(0)
    state.place(1, 0)
    state.validate()
    assert state.exists.tolist() == [False, True]
    assert state.running.tolist() == [1]


def test_ephemeral_volumes_are_new_and_others_are_shared() -> None:
    volumes = [
        {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        {"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}},
    ]
    claims = [a_pvc("a-own", volume="pv-1"), a_pvc("shared", volume="pv-2")]
    cluster = twinned(a_pod("a", node="n1", volumes=volumes), *claims)
    tables, pods = cluster.pods.tables, cluster.pods
    old, new = (tables.volumes[pods.volumes[row]] for row in (0, 1))
    assert [each.claim for each in old] == ["a-own", "shared"]
    assert [each.claim for each in new] == ["a-own+replacement", "shared"]
    known = cluster.kind("PersistentVolumeClaim")
    claim = known["default", "a-own+replacement"]
    assert (claim.spec.volume_name, claim.status.phase) == ("", "Pending")
    assert [each.uid for each in claim.metadata.owner_references] == [pods.uids[1]]
    assert known["default", "a-own"].spec.volume_name == "pv-1"
