"""Groups of pods: which kinds there are, and how their pods are recognised."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest

from builders import Object, a_node, a_pod, a_replica_set, a_workload
from builders.entry_points import entry_points, offering
from descheduling.harness import a_cluster
from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState
from restow.installed_packages import UnusablePackageError
from restow.kube import objects
from restow.sources.compact import CompactCluster
from restow.workloads.groups import ENTRY_POINTS, KINDS, NO_GROUP, GroupKind, Groups, group_kinds
from restow.workloads.replacements import Replacements

LWS = "leaderworkerset.sigs.k8s.io"


def groups_of(*pods: Object, others: tuple[Object, ...] = (), label: str = "") -> list[str]:
    """The group of each pod in canonical order, as text; empty for none."""
    groups = Groups(a_cluster(a_node("n1"), *pods, *others), group_kinds(label))
    return [str(groups.of(pod) or "") for pod in range(len(pods))]


MEMBERS = [
    pytest.param(
        {"labels": {f"{LWS}/name": "llm", f"{LWS}/group-index": "1"}}, "LeaderWorkerSet default/llm-1", id="lws"
    ),
    pytest.param({"labels": {"jobset.sigs.k8s.io/jobset-name": "js"}}, "JobSet default/js", id="jobset"),
    pytest.param({"labels": {"training.kubeflow.org/job-name": "t"}}, "training job default/t", id="training-label"),
    *(
        pytest.param({"owner": (kind, "t")}, "training job default/t", id=kind)
        for kind in ("PyTorchJob", "TFJob", "MPIJob", "JAXJob")
    ),
    pytest.param({"labels": {"ray.io/cluster": "r"}}, "RayCluster default/r", id="ray-label"),
    pytest.param({"owner": ("RayCluster", "r")}, "RayCluster default/r", id="ray-owner"),
    pytest.param({"spec": {"schedulingGroup": {"podGroupName": "g"}}}, "scheduling group default/g", id="gang-of-1.36"),
    pytest.param(
        {"spec": {"workloadRef": {"name": "w", "podGroup": "p", "podGroupReplicaKey": "0"}}},
        "scheduling group default/w/p/0",
        id="gang-of-1.35",
    ),
    pytest.param({"labels": {"kueue.x-k8s.io/pod-group-name": "k"}}, "Kueue workload default/k", id="kueue-group"),
    pytest.param(
        {"annotations": {"kueue.x-k8s.io/workload": "job-x"}}, "Kueue workload default/job-x", id="kueue-workload"
    ),
    pytest.param({"labels": {"kueue.x-k8s.io/managed": "true"}}, "Kueue workload default/p", id="kueue-pod"),
    pytest.param({"annotations": {"scheduling.k8s.io/group-name": "v"}}, "Volcano PodGroup default/v", id="volcano"),
    pytest.param(
        {"labels": {"scheduling.x-k8s.io/pod-group": "c"}}, "coscheduling PodGroup default/c", id="coscheduling"
    ),
    pytest.param({}, "", id="none"),
    pytest.param({"labels": {"kueue.x-k8s.io/managed": "false"}}, "", id="kueue-leaves-it-alone"),
    pytest.param({"spec": {"schedulingGroup": {}}}, "", id="empty-name"),
]


@pytest.mark.parametrize(("fields", "expected"), MEMBERS)
def test_a_pod_belongs_to_the_group_that_its_marks_name(fields: dict[str, Any], expected: str) -> None:
    pod = a_pod("p", node="n1", **({"owner": ("ReplicaSet", "rs")} | fields))
    assert groups_of(pod) == [expected]


@pytest.mark.parametrize(("fields", "expected"), MEMBERS)
def test_a_snapshot_file_keeps_what_groups_are_recognised_by(fields: dict[str, Any], expected: str) -> None:
    pod = a_pod("p", node="n1", **({"owner": ("ReplicaSet", "rs")} | fields))
    compact = CompactCluster()
    compact.add("Pod", [msgspec.json.decode(msgspec.json.encode(pod), type=objects.Pod)])
    (line,) = compact._lines()
    assert groups_of(msgspec.json.decode(line)) == [expected]


def test_every_kind_has_a_case() -> None:
    named = [each.values[1] for each in MEMBERS]
    assert all(any(text.startswith(kind.name) for text in named) for kind in KINDS)


def test_owners_are_followed_as_far_as_the_input_holds_them() -> None:
    """A LeaderWorkerSet owns the leader's StatefulSet, and the leader owns the StatefulSet of its workers."""
    leader = a_pod("llm-0", node="n1", owner=("StatefulSet", "llm"))
    worker = a_pod("llm-0-1", node="n1", owner=("StatefulSet", "llm-0"))
    sets = (
        a_workload("StatefulSet", "llm", owner=("LeaderWorkerSet", "llm")),
        a_workload("StatefulSet", "llm-0", owner=("Pod", "llm-0")),
    )
    assert groups_of(leader, worker, others=sets) == ["LeaderWorkerSet default/llm"] * 2
    assert groups_of(leader, worker) == ["", ""]


def test_the_pods_of_a_job_with_a_queue_are_one_workload() -> None:
    job = a_workload("Job", "train", labels={"kueue.x-k8s.io/queue-name": "gpu"})
    pods = [a_pod(name, node="n1", owner=("Job", "train")) for name in ("a", "b")]
    assert groups_of(*pods, others=(job,)) == ["Kueue workload default/train"] * 2
    assert groups_of(*pods, others=(a_workload("Job", "train"),)) == ["", ""]


def test_owners_that_own_one_another_end_somewhere() -> None:
    circle = (a_workload("StatefulSet", "s", owner=("StatefulSet", "s")),)
    assert groups_of(a_pod("p", node="n1", owner=("StatefulSet", "s")), others=circle) == [""]


def test_names_count_within_their_namespace_and_kind() -> None:
    found = groups_of(
        a_pod("a", namespace="x", labels={"ray.io/cluster": "c"}),
        a_pod("b", namespace="y", labels={"ray.io/cluster": "c"}),
        a_pod("c", namespace="y", labels={"scheduling.x-k8s.io/pod-group": "c"}),
    )
    assert len(set(found)) == 3


def test_a_label_that_the_policy_names_comes_first() -> None:
    pod = a_pod("p", labels={"example.com/gang": "g", "ray.io/cluster": "r"})
    assert groups_of(pod, label="example.com/gang") == ["group by example.com/gang default/g"]


def test_a_replacement_belongs_to_the_group_of_the_pod_that_it_replaces() -> None:
    """It comes while a plan is made, after the groups were found."""
    state = ClusterState(
        a_cluster(
            a_node("n1"),
            a_pod("a", node="n1", owner=("ReplicaSet", "rs"), labels={"ray.io/cluster": "r"}),
            a_pod("b", node="n1", owner=("ReplicaSet", "rs")),
            a_replica_set("rs"),
        )
    )
    groups, replacements = Groups(state.cluster), Replacements(state, 0)
    assert groups.of_pod.values.tolist() == [0, NO_GROUP]
    for pod in (0, 1):
        state.remove(pod)
        state.place(replacements.of(pod), PENDING)
    assert groups.of_pod.values[[replacements.of(0), replacements.of(1)]].tolist() == [0, NO_GROUP]
    assert groups.members(0, state.exists).tolist() == [replacements.of(0)]


def test_members_are_those_that_exist_and_have_not_ended() -> None:
    state = ClusterState(
        a_cluster(
            a_node("n1"),
            *(
                a_pod(name, node="n1", phase=phase, labels={"ray.io/cluster": "r"})
                for name, phase in (("a", "Running"), ("b", "Succeeded"), ("c", "Pending"))
            ),
        )
    )
    groups = Groups(state.cluster)
    assert groups.members(0, state.exists).tolist() == [0, 2]
    state.remove(0)
    assert groups.members(0, state.exists).tolist() == [2]
    assert np.array_equal(groups.of_pod.values, [0, 0, 0])


# Kinds of other packages


OWN = GroupKind("YuniKorn application", marks=(("applicationId",),))


def test_a_package_adds_a_kind() -> None:
    pod = a_pod("p", labels={"applicationId": "a"})
    assert groups_of(pod) == [""]
    with entry_points(offering("YuniKorn application", OWN), only=ENTRY_POINTS):
        assert groups_of(pod) == ["YuniKorn application default/a"]


@pytest.mark.parametrize(
    ("name", "offered", "message"),
    [
        pytest.param("own", 1, "is no restow.workloads.groups.GroupKind", id="no-kind"),
        pytest.param("own", OWN, 'declares the kind "YuniKorn application"', id="another-name"),
        pytest.param("own", GroupKind("own"), "has neither marks nor owners", id="nothing-to-recognise"),
        pytest.param("JobSet", OWN, "is a kind of restow itself", id="taken"),
    ],
)
def test_a_package_of_no_use_ends_the_plan(name: str, offered: object, message: str) -> None:
    """Going on without its kind would move pods that it protects."""
    with entry_points(offering(name, offered), only=ENTRY_POINTS), pytest.raises(UnusablePackageError, match=message):
        group_kinds()


def test_owners_that_many_objects_share_are_asked_once() -> None:
    """Six levels of thirty owners each, all of which own all of the next: hundreds of millions of ways up."""
    sets = [
        a_workload("StatefulSet", f"s{level}-{at}")
        | {
            "metadata": {
                "name": f"s{level}-{at}",
                "namespace": "default",
                "ownerReferences": [
                    {"kind": "StatefulSet", "name": f"s{level + 1}-{other}", "uid": ""} for other in range(30)
                ],
            }
        }
        for level in range(8)
        for at in range(30)
    ]
    assert groups_of(a_pod("p", node="n1", owner=("StatefulSet", "s0-0")), others=tuple(sets)) == [""]


#: What pods and what is above them may name: workloads, kinds that make groups, pods, and kinds that nothing is known of.
NAMED = ("ReplicaSet", "Job", "Deployment", "StatefulSet", "PyTorchJob", "Pod", "Custom")


def random_owners(chance: Random, most: int) -> list[dict[str, str]]:
    """References to objects of few names, so that chains and circles come about."""
    kinds = (chance.choice(NAMED) for _ in range(chance.randint(0, most)))
    return [{"kind": kind, "name": f"{kind[0].lower()}{chance.randrange(3)}", "uid": kind} for kind in kinds]


def random_objects(chance: Random) -> list[Object]:
    """Pods, and objects between them and their workloads, some with labels of groups."""
    labels = [{}, {}, {}, {"app": "web"}, {"kueue.x-k8s.io/queue-name": "q"}]
    found: list[Object] = []
    for kind in ("ReplicaSet", "Job", "Deployment", "StatefulSet"):
        for number in range(chance.randint(0, 3)):
            metadata = {"name": f"{kind[0].lower()}{number}", "namespace": chance.choice(("default", "other"))}
            owners = random_owners(chance, 2)
            found.append(
                {"kind": kind, "metadata": metadata | {"labels": chance.choice(labels), "ownerReferences": owners}}
            )
    for number in range(6):
        pod = a_pod(f"p{number}", node="n1")
        pod["metadata"] |= {"labels": chance.choice(labels), "ownerReferences": random_owners(chance, 2)}
        found.append(pod)
    return found


@pytest.mark.parametrize("seed", range(300))
def test_pods_that_plainly_belong_to_no_group_belong_to_none_when_looked_at_closely(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = a_cluster(a_node("n1"), *random_objects(Random(seed)))
    quick = [str(Groups(cluster).of(pod) or "") for pod in range(6)]
    whole = Groups(cluster)
    assert [str(whole.known.keys()[at]) if at != NO_GROUP else "" for at in whole.of_pod.values.tolist()] == quick
    monkeypatch.setattr(Groups, "_are_plain", lambda _self, labels, _marks, _owners: np.zeros(len(labels), dtype=bool))
    assert [str(Groups(cluster).of(pod) or "") for pod in range(6)] == quick
