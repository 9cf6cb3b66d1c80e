"""Which ResourceQuotas have room for one pod more, and for the replacements of a plan."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from builders import Object, a_container, a_node, a_pod
from descheduling.harness import a_cluster
from restow.cluster.pod_parts import total_resources
from restow.cluster.state import ClusterState
from restow.kube.objects import PodSpec, ResourceQuota
from restow.workloads.quotas import QuotaRoom, without_room
from restow.workloads.replacements import ReplacementPolicy, Replacements
from workloads.test_next_pod import a_controller, a_template, an_autoscaler


def a_spec(*, cpu: str = "500m", limit: str = "", **spec: Any) -> Object:
    resources = {"requests": {"cpu": cpu, "nvidia.com/gpu": "1"} if cpu else {}} | (
        {"limits": {"memory": limit}} if limit else {}
    )
    return {"containers": [{"name": "c", "resources": resources}]} | spec


def a_quota(resource: str, hard: str, used: str, **spec: Any) -> Object:
    return {
        "metadata": {"name": "team"},
        "spec": spec,
        "status": {"hard": {resource: hard}, "used": {resource: used}},
    }


def lacking(*quotas: Object, spec: Object | None = None) -> str | None:
    read = [msgspec.convert(each, ResourceQuota) for each in quotas]
    return without_room(read, msgspec.json.decode(msgspec.json.encode(spec or a_spec()), type=PodSpec))


def refused(quota: Object, spec: Object | None = None) -> bool:
    return lacking(quota, spec=spec) is not None


@pytest.mark.parametrize(
    ("resource", "hard", "used", "refuses"),
    [
        ("pods", "3", "2", False),
        ("pods", "3", "3", True),
        ("count/pods", "3", "3", True),
        ("cpu", "1", "500m", False),
        ("requests.cpu", "1", "501m", True),
        ("requests.nvidia.com/gpu", "8", "8", True),
        ("memory", "1Gi", "1Gi", False),
        ("limits.memory", "2Gi", "1Gi", False),
        ("limits.memory", "1Gi", "600Mi", True),
        ("services", "1", "1", False),
    ],
)
def test_a_quota_refuses_what_would_be_more_than_it_allows(
    resource: str, hard: str, used: str, *, refuses: bool
) -> None:
    assert refused(a_quota(resource, hard, used), a_spec(limit="512Mi")) == refuses


def test_the_answer_names_the_quota_and_what_it_lacks() -> None:
    assert lacking(a_quota("requests.cpu", "1", "750m")) == (
        "ResourceQuota team has no room for one pod more: 750m of 1 requests.cpu are used, and it takes 500m"
    )


def test_all_quotas_of_the_namespace_are_asked() -> None:
    quotas = [a_quota("pods", "9", "1"), {"metadata": {"name": "new"}}, a_quota("cpu", "1", "1")]
    assert lacking(*quotas) is not None


@pytest.mark.parametrize(
    ("scope", "spec", "concerns"),
    [
        ({"scopes": ["NotTerminating"]}, {}, True),
        ({"scopes": ["Terminating"]}, {}, False),
        ({"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 5}, True),
        ({"scopes": ["BestEffort"]}, {}, False),
        ({"scopes": ["BestEffort"]}, {"cpu": ""}, True),
        ({"scopes": ["NotBestEffort", "Terminating"]}, {}, False),
        ({"scopes": ["VolumeAttributesClass"]}, {}, False),
    ],
)
def test_a_quota_concerns_the_pods_of_all_of_its_scopes(scope: Object, spec: Object, *, concerns: bool) -> None:
    assert refused(a_quota("pods", "1", "1", **scope), a_spec(**spec)) == concerns


@pytest.mark.parametrize(
    ("operator", "values", "concerns"),
    [
        ("In", ["high"], True),
        ("In", ["low"], False),
        ("NotIn", ["low"], True),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
    ],
)
def test_a_quota_may_concern_pods_of_some_priority_classes(operator: str, values: list[str], *, concerns: bool) -> None:
    selector = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": values}]}
    quota = a_quota("pods", "1", "1", scopeSelector=selector)
    assert refused(quota, a_spec(priorityClassName="high")) == concerns


def room(*objects: Object) -> tuple[QuotaRoom, ClusterState]:
    """The quotas of a cluster with these objects; pods are those of ``web``."""
    state = ClusterState(a_cluster(a_node("n1"), *objects))
    return QuotaRoom.of(state, Replacements(state, 0)), state


def counted(quota: Object) -> Object:
    return quota | {"kind": "ResourceQuota", "metadata": {"name": "team", "namespace": "default"}}


def running(name: str = "web-0", cpu: str = "1", *, kind: str = "ReplicaSet", **spec: Any) -> Object:
    return a_pod(name, node="n1", cpu=cpu, owner=(kind, "web"), labels={"app": "web"}, **spec)


@pytest.mark.parametrize(
    ("used", "beside", "comes", "why"),
    [
        ("3", ReplacementPolicy.OVERLAPPING, True, ""),
        ("4", ReplacementPolicy.AFTERWARDS, True, ""),
        ("5", ReplacementPolicy.AFTERWARDS, False, "4 of 4 pods are used, and it takes 1"),
    ],
    ids=["room", "full", "lowered"],
)
def test_a_replacement_without_room_beside_the_old_pod_comes_later_or_not_at_all(
    used: str, beside: ReplacementPolicy, why: str, *, comes: bool
) -> None:
    quotas, _ = room(running(), counted(a_quota("pods", "4", used)))
    assert quotas.when(0) is beside
    expected = f"ResourceQuota default/team has no room for the new pod even without this one: {why}"
    assert quotas.refusal(0) == (None if comes else expected)


def test_quotas_of_other_namespaces_and_scopes_do_not_matter() -> None:
    elsewhere = a_quota("pods", "1", "9") | {"kind": "ResourceQuota"}
    elsewhere["metadata"] = {"name": "team", "namespace": "other"}
    full = a_quota("pods", "1", "9", scopes=["BestEffort"])
    quotas, _ = room(running(), counted(full), elsewhere)
    assert (quotas.when(0), quotas.refusal(0)) == (ReplacementPolicy.OVERLAPPING, None)


@pytest.mark.parametrize(("kind", "counts"), [("ReplicaSet", True), ("Game", False)])
def test_pods_of_controllers_with_templates_have_no_deadline_and_of_others_that_is_not_known(
    kind: str, *, counts: bool
) -> None:
    quotas, _ = room(running(kind=kind), counted(a_quota("pods", "1", "9", scopes=["NotTerminating"])))
    assert (quotas.refusal(0) is not None) == counts


def test_nothing_is_asked_for_a_pod_that_nothing_replaces() -> None:
    quotas, _ = room(a_pod("bare", node="n1"), counted(a_quota("pods", "1", "9")))
    assert (quotas.when(0), quotas.refusal(0)) == (ReplacementPolicy.NONE, None)


def test_a_pod_that_nothing_replaces_adds_nothing_to_the_use() -> None:
    """Nor does it free anything: a finished one is not counted in what is used."""
    quotas, _ = room(a_pod("bare", node="n1"), running("web"), counted(a_quota("pods", "1", "1")))
    before = quotas.refusal(1)
    quotas.count(0)
    assert quotas.refusal(1) == before is None
    assert quotas.lacking_beside(1) is not None


def test_what_the_moves_of_a_plan_add_to_the_use_counts() -> None:
    """Each of three pods comes back with two CPUs more, for which the quota has room once."""
    app = a_container("app", requests={"cpu": "1"})
    pods = [running(f"web-{number}", containers=[app]) for number in range(3)]
    autoscaler = an_autoscaler("Auto", {"cpu": "3"})
    controller = a_controller(template=a_template(app))
    quotas, state = room(*pods, controller, autoscaler, counted(a_quota("requests.cpu", "5500m", "3")))
    assert quotas.refusal(0) is None
    apart = quotas.copy()
    apart.count(0)
    assert apart.refusal(1) == (
        "ResourceQuota default/team has no room for the new pod even without this one: "
        "4 of 5500m requests.cpu are used, and it takes 3"
    )
    assert quotas.refusal(1) is None
    state.remove(0)
    state.place(Replacements(state, 0).of(0), 0)
    assert QuotaRoom.of(state, Replacements(state, 0)).refusal(1) == apart.refusal(1)


@pytest.mark.parametrize(
    ("limits", "overhead", "expected"),
    [
        ([{"cpu": "1"}, {"cpu": "2", "memory": "1"}], {}, {"cpu": 3, "memory": 1}),
        ([{"cpu": "1"}], {"cpu": "1", "memory": "1"}, {"cpu": 2}),
        ([{}], {"cpu": "1"}, {}),
    ],
    ids=["summed", "overhead of limits that there are", "no limits"],
)
def test_limits_are_summed_and_overhead_is_added_to_those_that_there_are(
    limits: list[Object], overhead: Object, expected: dict[str, int]
) -> None:
    containers = [a_container(f"c{number}", limits=each) for number, each in enumerate(limits)]
    _, state = room(running(containers=containers, spec={"overhead": overhead}))
    _, found = total_resources(state.cluster.pods.tables.resources[state.cluster.pods.resources[0]].key)
    assert {name: amount.value() for name, amount in found.items()} == expected
