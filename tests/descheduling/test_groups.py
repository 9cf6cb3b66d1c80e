"""Groups in a plan: their pods stay, or all of a group move as one proposal, or the policy lets each move alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders import (
    HOSTNAME,
    NOW,
    ZONE,
    Object,
    a_node,
    a_pdb,
    a_pod,
    ago,
    node_affinity,
    node_term,
)
from builders.cluster_objects import a_gang_workload, a_pod_group, in_group, of_workload
from descheduling.harness import a_cluster, a_policy, cycle
from explaining.explained import a_setting
from proving.proven import TOLD, codes, landings, moved, prove, proven, read_policy, reasons
from restow.descheduling.cycle import Cycle
from restow.descheduling.registry import strategies
from restow.errors import InputError
from restow.explaining.answers import explain_pod
from restow.kube.timestamps import parse_time
from restow.policies.codes import Placement, SteeringMode
from restow.proving.planning import make_plan
from restow.proving.replaying import Replay, replay
from restow.proving.search import prove_cycle
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE

LWS = "leaderworkerset.sigs.k8s.io"
OLD = {"maxPodLifeTimeSeconds": 60}
RS = ("ReplicaSet", "rs")


def nodes(*cpus: str, zones: str = "aaaaaaaa") -> list[Object]:
    """``n1`` and so on, with so many CPUs each, in zones of one letter."""
    return [
        a_node(f"n{at}", cpu=cpu, labels={HOSTNAME: f"n{at}", ZONE: zone})
        for at, (cpu, zone) in enumerate(zip(cpus, zones, strict=False), 1)
    ]


def a_member(name: str, node: str | None, cpu: str = "1", **fields: Any) -> Object:
    """A pod of a RayCluster that has been running for an hour."""
    given: dict[str, Any] = {"owner": RS, "labels": {"ray.io/cluster": "ray"}, "created": ago(3600), "phase": "Running"}
    return a_pod(name, node=node, cpu=cpu, **(given | fields))


def a_worker(index: int, node: str, cpu: str = "1", *, size: int = 2, group: int = 0, **fields: Any) -> Object:
    """A pod of a group of a LeaderWorkerSet: 0 is the leader."""
    owner = ("StatefulSet", "llm") if index == 0 else ("StatefulSet", f"llm-{group}")
    labels = {f"{LWS}/name": "llm", f"{LWS}/group-index": str(group), f"{LWS}/worker-index": str(index)}
    name = f"llm-{group}" if index == 0 else f"llm-{group}-{index}"
    annotations = {f"{LWS}/size": str(size)} | fields.pop("annotations", {})
    given = {"owner": owner, "labels": labels, "annotations": annotations}
    return a_member(name, node, cpu, **(given | fields))


def old_pods(*objects: Object, groups: str | None = None, label: str = "", **policy: Any) -> Cycle:
    """A proven plan of PodLifeTime, which wants every pod to move."""
    restow: Object = {"certainty": "possible"} | ({"groups": groups} if groups else {})
    return proven("PodLifeTime", OLD, *objects, restow=restow | ({"groupLabel": label} if label else {}), **policy)


# Groups stay


GANGS = [
    pytest.param({"labels": {f"{LWS}/name": "llm", f"{LWS}/group-index": "0"}}, id="lws"),
    pytest.param({"spec": {"schedulingGroup": {"podGroupName": "gang"}}}, id="scheduling-group"),
    pytest.param({"labels": {"jobset.sigs.k8s.io/jobset-name": "js"}}, id="jobset"),
    pytest.param({"owner": ("PyTorchJob", "train")}, id="pytorch"),
    pytest.param({"owner": ("MPIJob", "train")}, id="mpi"),
    pytest.param({"labels": {"ray.io/cluster": "ray"}}, id="ray"),
    pytest.param({"annotations": {"scheduling.k8s.io/group-name": "pg"}}, id="volcano"),
    pytest.param({"labels": {"scheduling.x-k8s.io/pod-group": "pg"}}, id="coscheduling"),
    pytest.param({"labels": {"kueue.x-k8s.io/pod-group-name": "pg"}}, id="kueue"),
]


@pytest.mark.parametrize(
    ("group", "code", "says"),
    [
        pytest.param(a_pod_group("gang", least=2), "", "", id="complete"),
        pytest.param(
            a_pod_group("gang", least=3), "NoFit", "not tried: waiting for minCount pods from a gang", id="too few"
        ),
        pytest.param(a_pod_group("other"), "NoFit", 'not tried: waiting for pods\'s pod group "gang"', id="missing"),
        pytest.param(
            a_pod_group("gang", schedulingConstraints={"topology": [{"key": ZONE}]}),
            "Unknown",
            "its group has to share a domain, which restow models as of Kubernetes 1.37",
            id="of one domain",
        ),
    ],
)
def test_a_pod_of_a_gang_moves_only_if_the_scheduler_would_try_the_next_one(
    group: Object, code: str, says: str
) -> None:
    pods = [a_member(name, "n1", labels={}, spec=in_group("gang")) for name in ("a", "b")]
    found = old_pods(*nodes("8", "8"), group, *pods, groups="alone")
    assert codes(found) == ({"a": code, "b": code} if code else {})
    assert all(says in message for _, _, message in reasons(found).values())


@pytest.mark.parametrize(
    ("workload", "code", "says"),
    [
        pytest.param(a_gang_workload("w", g=2), "", "", id="complete"),
        pytest.param(a_gang_workload("w", g=None), "", "", id="basic"),
        pytest.param(a_gang_workload("w", g=3), "NoFit", "needs 3 pods with nodes and has 2", id="too few"),
        pytest.param(a_gang_workload("v", g=2), "NoFit", 'waiting for pods\'s workload "w"', id="missing"),
    ],
)
@pytest.mark.parametrize("groups", ["alone", "together"])
def test_in_1_35_a_pod_of_a_workload_moves_only_if_its_gang_has_enough_pods_with_nodes(
    workload: Object, code: str, says: str, groups: str
) -> None:
    pods = [a_member(name, "n1", labels={}, spec=of_workload("w", "g")) for name in ("a", "b")]
    policy = a_policy("PodLifeTime", OLD, restow={"certainty": "possible", "groups": groups})
    cluster = replace(a_cluster(*nodes("8", "8"), workload, *pods, *TOLD), server_minor=35)
    found = prove_cycle(cluster, read_policy(policy), strategies(), parse_time(NOW))
    assert moved(found) == ([] if code else ["a", "b"])
    assert set(codes(found).values()) == ({code} if code else set())
    assert all(says in message for _, _, message in reasons(found).values())


@pytest.mark.parametrize("marks", GANGS)
def test_a_pod_of_a_group_stays(marks: dict[str, Any]) -> None:
    pods = [a_member(name, "n1", **({"labels": {}} | marks)) for name in ("a", "b")]
    assert codes(old_pods(*nodes("8", "8"), *pods)) == {"a": "GroupMember", "b": "GroupMember"}
    assert moved(old_pods(*nodes("8", "8"), a_pod_group("gang"), *pods, groups="alone")) == ["a", "b"]


def test_the_refusal_names_the_group_and_what_would_let_it_go() -> None:
    plan = old_pods(*nodes("8", "8"), a_worker(0, "n1"), a_worker(1, "n1"))
    assert reasons(plan)["llm-0"] == (
        "evictor",
        "GroupMember",
        (
            "pod is one of 2 pods of LeaderWorkerSet default/llm-0, which restarts as a whole; "
            "groups: together in the policy's restow section moves all of them at once"
        ),
    )


def test_the_only_pod_of_a_group_moves_like_any_other() -> None:
    assert moved(old_pods(*nodes("8", "8"), a_member("a", "n1"))) == ["a"]
    ended = a_member("b", "n1", phase="Succeeded")
    assert "a" in moved(old_pods(*nodes("8", "8"), a_member("a", "n1"), ended))


def test_a_pod_that_kueue_manages_stays_even_alone() -> None:
    """Its replacement waits behind Kueue's gate until there is quota for it."""
    pod = a_member("a", "n1", labels={"kueue.x-k8s.io/managed": "true"})
    plan = old_pods(*nodes("8", "8"), pod)
    assert codes(plan) == {"a": "GroupMember"}
    assert "admitted" in reasons(plan)["a"][2]
    together = old_pods(*nodes("8", "8"), pod, groups="together")
    assert moved(together) == ["a"]
    (move,) = together.record.evictions
    assert (move.landing.certainty, move.landing.probability) == ("possible", None)
    sure = proven("PodLifeTime", OLD, *nodes("8", "8"), pod, restow={"groups": "together", "certainty": "certain"})
    assert codes(sure) == {"a": "NotCertain"}


def test_no_annotation_of_a_pod_overrides_its_group() -> None:
    evict = {"annotations": {"descheduler.alpha.kubernetes.io/evict": "true"}}
    pods = [a_member(name, "n1", **evict) for name in ("a", "b")]
    assert set(codes(old_pods(*nodes("8", "8"), *pods)).values()) == {"GroupMember"}


def test_a_label_of_the_policy_makes_groups() -> None:
    pods = [a_member(name, "n1", labels={"example.com/gang": "g"}) for name in ("a", "b")]
    assert moved(old_pods(*nodes("8", "8"), *pods)) == ["a", "b"]
    assert set(codes(old_pods(*nodes("8", "8"), *pods, label="example.com/gang")).values()) == {"GroupMember"}


@pytest.mark.parametrize("groups", ["stay", "together"])
def test_upstream_placement_knows_no_groups(groups: str) -> None:
    plan = cycle(
        "PodLifeTime",
        OLD,
        nodes=nodes("8", "8"),
        pods=[a_member("a", "n1"), a_member("b", "n1")],
        now=NOW,
        restow={"groups": groups},
    )
    assert moved(plan) == ["a", "b"]


@pytest.mark.parametrize(
    ("restow", "message"),
    [
        pytest.param({"groups": "apart"}, "restow.groups: must be alone or stay or together", id="word"),
        pytest.param({"groupLabel": "no label"}, "restow.groupLabel: name part must consist of", id="label"),
    ],
)
def test_settings_that_make_no_sense_are_refused(restow: Object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        proven("PodLifeTime", OLD, *nodes("8", "8"), restow=restow)


# Groups move together


def test_a_group_moves_as_one_proposal() -> None:
    plan = old_pods(*nodes("8", "8"), a_member("a", "n1"), a_member("b", "n2"), a_member("c", "n1"), groups="together")
    assert moved(plan) == ["a", "b", "c"]
    made = make_plan(plan, parse_time(NOW), "prove")
    assert {(each.proposal.purpose, each.proposal.moves) for each in made.moves} == {("move RayCluster default/ray", 3)}
    assert [each.reason for each in made.moves][1] == "RayCluster default/ray moves as a whole"


def test_a_group_of_which_one_pod_has_no_place_stays_whole() -> None:
    """``b`` fits only on n1, where the replacement of ``a`` is once both have left."""
    pods = [a_member("a", "n1"), a_member("b", "n2", affinity=node_affinity([node_term((HOSTNAME, "In", "n9"))]))]
    plan = old_pods(*nodes("8", "8"), *pods, groups="together")
    assert moved(plan) == []
    (refused,) = plan.record.refusals
    assert plan.state.cluster.pods.names[refused.pod] == "b"
    assert reasons(plan)["b"][1] == "NoFit"
    assert reasons(plan)["b"][2].endswith("; so PodLifeTime does not move RayCluster default/ray")


@pytest.mark.parametrize(
    ("odd", "others", "code"),
    [
        pytest.param({"priority": 2_000_000_000}, [], "SystemCriticalPods", id="evictor"),
        pytest.param(
            {"labels": {"ray.io/cluster": "ray", "app": "b"}},
            [a_pdb("none", selector={"matchLabels": {"app": "b"}}, disruptions_allowed=0)],
            "DisruptionBudget",
            id="budget",
        ),
        pytest.param({"node": None, "phase": "Pending"}, [], "GroupMember", id="pending"),
        pytest.param({"node": "n3"}, [a_node("n3", ready=False)], "GroupMember", id="node-is-not-ready"),
    ],
)
def test_a_group_of_which_one_pod_may_not_go_stays_whole(odd: dict[str, Any], others: list[Object], code: str) -> None:
    node = odd.pop("node", "n2") if "node" in odd else "n2"
    pods = [a_member("a", "n1"), a_member("b", node, **odd)]
    plan = old_pods(*nodes("8", "8"), *pods, *others, groups="together")
    assert moved(plan) == []
    assert codes(plan) == {"b": code}


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        pytest.param("maxNoOfPodsToEvictTotal", "MaxPodsToEvictTotal", id="total"),
        pytest.param("maxNoOfPodsToEvictPerNode", "MaxPodsToEvictPerNode", id="node"),
        pytest.param("maxNoOfPodsToEvictPerNamespace", "MaxPodsToEvictPerNamespace", id="namespace"),
    ],
)
def test_all_pods_of_a_group_count_in_the_limits(limit: str, code: str) -> None:
    pods = [a_member(name, "n1") for name in ("a", "b", "c")]
    held = old_pods(*nodes("8", "8"), *pods, groups="together", **{limit: 2})
    assert moved(held) == []
    assert set(codes(held).values()) == {code}
    assert len(moved(old_pods(*nodes("8", "8"), *pods, groups="together", **{limit: 3}))) == 3


def test_all_pods_of_a_group_count_in_budgets() -> None:
    pods = [a_member(name, "n1") for name in ("a", "b", "c")]
    budget = {"selector": {"matchLabels": {"ray.io/cluster": "ray"}}}
    held = old_pods(*nodes("8", "8"), *pods, a_pdb("p", disruptions_allowed=2, **budget), groups="together")
    assert (moved(held), codes(held)) == ([], {"c": "DisruptionBudget"})
    free = old_pods(*nodes("8", "8"), *pods, a_pdb("p", disruptions_allowed=3, **budget), groups="together")
    assert len(moved(free)) == 3


def test_a_group_that_restarts_is_scheduled_when_all_of_it_have_left() -> None:
    """Each pod needs a whole node, and only those of the group can make room for one another."""
    pods = [a_worker(0, "n1", cpu="2"), a_worker(1, "n2", cpu="2")]
    plan = old_pods(*nodes("2", "2"), *pods, groups="together")
    assert moved(plan) == ["llm-0", "llm-0-1"]
    assert set(landings(plan).values()) == {"n1", "n2"}
    assert all(each.landing.steering is None for each in plan.record.evictions)


def test_replacements_of_a_group_that_restarts_are_not_steered() -> None:
    """Only one of its pods is evicted; restow does not see where the others come from."""
    objects = [*nodes("8", "8"), a_worker(0, "n1"), a_worker(1, "n1"), *TOLD]
    policy = a_policy("PodLifeTime", OLD, restow={"groups": "together", "certainty": "possible"})
    plan = prove(objects, policy, steering="nominate")
    assert len(moved(plan)) == 2
    assert {each.landing.steering for each in plan.record.evictions} == {None}


def test_groups_of_one_set_are_different_groups() -> None:
    pods = [a_worker(index, "n1", group=group) for group in (0, 1) for index in (0, 1)]
    plan = old_pods(*nodes("8", "8"), *pods, groups="together", maxNoOfPodsToEvictTotal=3)
    assert moved(plan) == ["llm-0", "llm-0-1"]


def test_a_group_that_lacks_a_pod_stays() -> None:
    """Its replacements would wait for the one that is missing."""
    plan = old_pods(*nodes("8", "8"), *(a_worker(at, "n1", size=3) for at in (0, 1)), groups="together")
    assert moved(plan) == []
    assert reasons(plan)["llm-0"][2].startswith(
        "LeaderWorkerSet default/llm-0 has 2 of the 3 pods that it needs, so its replacements would have to wait"
    )


EXCLUSIVE = {"annotations": {f"{LWS}/exclusive-topology": ZONE}}


def test_a_group_with_an_exclusive_topology_lands_in_its_domain() -> None:
    """n3 and n4 are empty, and in another zone."""
    pods = [a_worker(at, "n1", **EXCLUSIVE) for at in (0, 1)]
    fourfold = nodes("8", "8", "8", "8", zones="aabb")
    plan = old_pods(*fourfold, *pods, groups="together")
    assert len(moved(plan)) == 2
    assert set(landings(plan).values()) <= {"n1", "n2"}
    sure = proven("PodLifeTime", OLD, *fourfold, *pods, restow={"groups": "together", "certainty": "certain"})
    assert moved(sure) == [], "the leader could land in the other zone, and its workers with it"


@pytest.mark.parametrize(
    ("places", "message"),
    [
        pytest.param(["n1", "n3"], "must share one", id="spread"),
        pytest.param(["n1", "n2"], "to itself, and default/llm-1 of another group is in it", id="shared"),
    ],
)
def test_a_group_that_breaks_its_exclusive_topology_stays(places: list[str], message: str) -> None:
    pods = [a_worker(at, node, **EXCLUSIVE) for at, node in enumerate(places)]
    other = a_worker(0, "n2", group=1, size=1, **EXCLUSIVE)
    plan = old_pods(*nodes("8", "8", "8", zones="aab"), *pods, other, groups="together")
    assert moved(plan) == []
    assert any(message in text for _, _, text in reasons(plan).values())


def test_each_job_of_a_jobset_has_a_domain_of_its_own() -> None:
    def a_job_pod(name: str, node: str, key: str) -> Object:
        labels = {"jobset.sigs.k8s.io/jobset-name": "js", "jobset.sigs.k8s.io/job-key": key}
        return a_member(name, node, labels=labels, annotations={"alpha.jobset.sigs.k8s.io/exclusive-topology": ZONE})

    pods = [a_job_pod("a", "n1", "0"), a_job_pod("b", "n2", "1")]
    plan = old_pods(*nodes("8", "8", zones="ab"), *pods, groups="together")
    assert landings(plan) == {"a": "n1", "b": "n2"}


# What is said of groups


def test_an_explanation_names_the_group_and_what_would_let_it_go() -> None:
    objects = [*nodes("8", "8"), a_worker(0, "n1"), a_worker(1, "n1"), *TOLD]
    setting = a_setting(a_policy("PodLifeTime", OLD, restow={"certainty": "possible"}), *objects)
    explanation = explain_pod(setting, 0)
    assert explanation.group == "LeaderWorkerSet default/llm-0"
    (view,) = explanation.strategies
    assert view.refusal is not None
    assert view.refusal.code == "GroupMember"
    assert ("GroupMember", False) in [(each.code, each.passes) for each in view.checks]
    (change,) = view.changes
    assert [each.message for each in change.steps] == ["with groups: together in the policy's restow section"]
    assert change.verified


# Plans that are applied


def test_a_group_that_a_pod_has_joined_is_not_moved_by_an_older_plan() -> None:
    pods = [a_member("a", "n1"), a_member("b", "n1")]
    saved = make_plan(old_pods(*nodes("8", "8"), *pods, groups="together"), parse_time(NOW), "prove")
    policy = read_policy(a_policy("PodLifeTime", OLD, restow={"groups": "together", "certainty": "possible"}))

    def again(*more: Object) -> Replay:
        cluster = a_cluster(*nodes("8", "8"), *pods, *more, *TOLD)
        return replay(
            cluster,
            policy,
            saved.moves,
            parse_time(NOW),
            (DEFAULT_PROFILE,),
            placement=Placement.PROVE,
            steering=SteeringMode.NONE,
        )

    assert len(again().cycle.record.evictions) == 2
    later = again(a_member("c", "n2"))
    assert not later.cycle.record.evictions
    assert [(each.code, each.message) for each in later.refused] == [
        (
            "GroupMember",
            "RayCluster default/ray moves as a whole, and default/c belongs to it, which the plan does not move",
        )
    ] * 2


def test_a_pod_that_has_joined_a_group_stays_although_an_older_plan_moves_it() -> None:
    saved = make_plan(old_pods(*nodes("8", "8"), a_member("a", "n1")), parse_time(NOW), "prove")
    policy = read_policy(a_policy("PodLifeTime", OLD, restow={"certainty": "possible"}))
    now = replay(
        a_cluster(*nodes("8", "8"), a_member("a", "n1"), a_member("b", "n1"), *TOLD),
        policy,
        saved.moves,
        parse_time(NOW),
        (DEFAULT_PROFILE,),
        placement=Placement.PROVE,
        steering=SteeringMode.NONE,
    )
    assert [each.code for each in now.refused] == ["GroupMember"]
