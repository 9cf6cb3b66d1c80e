"""PodLifeTime: which pods are too old, or too long in a state.

Ids are the rows of upstream's own unit tests (PL) and of scenarios that were run against upstream (X), restated.
Excluded: validation of the arguments (tests/policies).
"""

from __future__ import annotations

from typing import Any

import pytest

from builders import (
    NOW,
    RS,
    Object,
    a_condition,
    a_pod,
    ago,
    claim_volume,
    running,
    std_node,
    terminated,
    waiting,
)
from descheduling.harness import cycle, evictions, refusals
from restow.errors import InputError

NODES = [std_node("n1"), std_node("n2")]
OLD = "2009-11-10T23:00:00Z"
HOUR = 3600
MAX: Object = {"maxPodLifeTimeSeconds": 600}


def found(args: Object, pods: list[Object], **more: Any) -> list[str]:
    return evictions("PodLifeTime", args, nodes=NODES, pods=pods, now=NOW, **more)


def old(name: str, *, node: str = "n1", **more: Any) -> Object:
    return a_pod(name, node=node, owner=RS, created=OLD, **more)


def new(name: str) -> Object:
    return a_pod(name, node="n1", owner=RS, created=NOW)


def aged(name: str, seconds: float, *, node: str = "n1") -> Object:
    return a_pod(name, node=node, owner=RS, created=ago(seconds))


def plain(name: str = "p1", *, owner: Any = RS, **status: Any) -> Object:
    """A pod without creation time."""
    return a_pod(name, node="n1", owner=owner, **status)


AGE_ROWS = {
    "PL-03": (MAX, [old("p11", volumes=[claim_volume("c")])], ["p11"]),
    "PL-04": (
        {**MAX, "labelSelector": {"matchLabels": {"foo": "bar"}}},
        [old("p12", labels={"foo": "bar"}), old("p13", labels={"foo": "bar1"})],
        ["p12"],
    ),
    "PL-05": (MAX, [new("p1"), old("p2"), old("p9", phase="Pending")], ["p2", "p9"]),
    "PL-26a": (MAX, [new("p1"), old("p2")], ["p2"]),
    "PL-26b": (MAX, [new("p3"), new("p4")], []),
    "PL-26c": (MAX, [new("p5"), aged("p6", 605)], ["p6"]),
    "PL-26d": (MAX, [a_pod("p7", node="n1", created=NOW), a_pod("p8", node="n1", created=ago(595))], []),
    "X-71": (MAX, [aged("p1", 600.2), aged("p2", 601.2), aged("p3", -5)], ["p2"]),
    "exactly the limit": (MAX, [aged("p1", 600), aged("p2", 600.9), aged("p3", 601)], ["p3"]),
    "limit 0": ({"maxPodLifeTimeSeconds": 0}, [aged("p1", 0.5), aged("p2", 1)], ["p2"]),
    "no creation time": (MAX, [plain()], ["p1"]),
    "longer than any age": ({"maxPodLifeTimeSeconds": 2**64 - 1}, [plain(), old("p2")], []),
}


@pytest.mark.parametrize(("args", "pods", "expected"), AGE_ROWS.values(), ids=AGE_ROWS.keys())
def test_pods_older_than_the_limit_go(args: Object, pods: list[Object], expected: list[str]) -> None:
    assert found(args, pods) == expected


def test_pods_that_the_evictor_protects_stay() -> None:
    """PL-02."""
    pods = [old("p11", volumes=[claim_volume("c")])]
    protected = {"evictor": {"ignorePvcPods": True}, "nodes": NODES, "pods": pods, "now": NOW}
    assert evictions("PodLifeTime", MAX, **protected) == []
    assert refusals("PodLifeTime", MAX, **protected) == {"p11": "PodsWithPVC"}


def test_young_pods_are_not_noted_as_refused() -> None:
    pods = [a_pod("bare-old", node="n1", created=OLD), a_pod("bare-new", node="n1", created=NOW)]
    assert refusals("PodLifeTime", MAX, nodes=NODES, pods=pods, now=NOW) == {"bare-old": "NoOwner"}


STUCK = {
    "PL-11": "ImagePullBackOff",
    "PL-12": "CrashLoopBackOff",
    "PL-13": "CreateContainerConfigError",
    "PL-14": "ErrImagePull",
    "PL-19": "CreateContainerError",
    "PL-20": "InvalidImageName",
}


@pytest.mark.parametrize("reason", STUCK.values(), ids=STUCK.keys())
def test_old_pods_go_for_the_reason_that_a_container_waits_for(reason: str) -> None:
    pods = [old("p9", phase="Pending", statuses=[waiting(reason)])]
    assert found({**MAX, "states": [reason]}, pods) == ["p9"]


ERROR = "CreateContainerError"
CONFIG = "CreateContainerConfigError"
STATE_ROWS = {
    "PL-10": (
        {**MAX, "states": ["PodInitializing"]},
        [old("p9", phase="Pending"), old("stuck", statuses=[waiting("PodInitializing")])],
        ["stuck"],
    ),
    "PL-15": ({**MAX, "states": [ERROR]}, [old("p9", init_statuses=[waiting(ERROR)])], []),
    "PL-16": (
        {**MAX, "states": [ERROR], "includingInitContainers": True},
        [old("p9", init_statuses=[waiting(ERROR)])],
        ["p9"],
    ),
    "PL-17": ({**MAX, "states": [ERROR]}, [old("p9", ephemeral_statuses=[waiting(ERROR)])], []),
    "PL-18": (
        {**MAX, "states": [ERROR], "includingEphemeralContainers": True},
        [old("p9", ephemeral_statuses=[waiting(ERROR)])],
        ["p9"],
    ),
    "PL-21": ({**MAX, "states": ["ContainerCreating"]}, [old("p9", statuses=[waiting("ImagePullBackOff")])], []),
    "PL-26e": (
        {**MAX, "states": ["Pending"]},
        [old("p9", phase="Pending"), old("p10", phase="Running")],
        ["p9"],
    ),
    "PL-27": (
        {"states": ["NodeAffinity"]},
        [plain(phase="Failed", statuses=[terminated("NodeAffinity")])],
        ["p1"],
    ),
    "PL-28": ({"states": ["Shutdown"]}, [plain(phase="Failed", reason="Shutdown")], ["p1"]),
    "PL-29": (
        {"states": [CONFIG], "includingInitContainers": True},
        [plain(phase="Failed", init_statuses=[terminated(CONFIG)])],
        ["p1"],
    ),
    "PL-30": ({"states": [CONFIG]}, [plain(phase="Failed", init_statuses=[terminated(CONFIG)])], []),
    "PL-38": (
        {"states": ["Failed"], "ownerKinds": {"exclude": ["Job"]}},
        [plain(phase="Failed", owner=("Job", "job-1"))],
        [],
    ),
    "owner kind included": (
        {"states": ["Failed"], "ownerKinds": {"include": ["Job"]}},
        [plain(phase="Failed", owner=("Job", "job-1")), plain("p2", phase="Failed")],
        ["p1"],
    ),
    "another owner kind excluded": (
        {"states": ["Failed"], "ownerKinds": {"exclude": ["Job"]}},
        [plain(phase="Failed")],
        ["p1"],
    ),
}


@pytest.mark.parametrize(("args", "pods", "expected"), STATE_ROWS.values(), ids=STATE_ROWS.keys())
def test_states_name_phases_and_reasons(args: Object, pods: list[Object], expected: list[str]) -> None:
    assert found(args, pods) == expected


def test_pods_without_owner_are_no_pods_of_an_included_kind() -> None:
    args = {"states": ["Failed"], "ownerKinds": {"include": ["Job"]}}
    assert found(args, [plain(phase="Failed", owner=None)], evictor={"evictFailedBarePods": True}) == []


COMPLETED: Object = {"reason": "PodCompleted"}
LONG_READY = [a_condition("Ready", "True", since=ago(2 * HOUR))]
CONDITION_ROWS = {
    "PL-33": ({"conditions": [COMPLETED]}, [plain(conditions=[a_condition("Ready", "True", reason="Other")])], []),
    "PL-35": (
        {"states": ["Succeeded"], "conditions": [{"minTimeSinceLastTransitionSeconds": 14400}]},
        [plain(phase="Succeeded", conditions=[a_condition("Ready", "False", since=ago(60))])],
        [],
    ),
    "PL-45": (
        {
            "states": ["Succeeded"],
            "conditions": [{**COMPLETED, "status": "True", "minTimeSinceLastTransitionSeconds": 300}],
        },
        [
            plain(
                "stale-completed",
                phase="Succeeded",
                conditions=[
                    a_condition("Initialized", "True", reason="PodCompleted", since=ago(2 * HOUR)),
                    a_condition("Ready", "False", reason="PodCompleted", since=ago(2 * HOUR)),
                ],
            ),
            plain(
                "recent-completed",
                phase="Succeeded",
                conditions=[a_condition("Initialized", "True", reason="PodCompleted", since=ago(60))],
            ),
            plain("running-pod", phase="Running"),
        ],
        ["stale-completed"],
    ),
    "any entry, any condition": (
        {"conditions": [{"type": "Other"}, {"type": "Ready", "status": "True"}]},
        [plain(conditions=[a_condition("Initialized", "True"), a_condition("Ready", "True")])],
        ["p1"],
    ),
    "every field of an entry": (
        {"conditions": [{"type": "Ready", "status": "False"}]},
        [plain(conditions=[a_condition("Ready", "True"), a_condition("Initialized", "False")])],
        [],
    ),
    "an entry without type": ({"conditions": [{"status": "True"}]}, [plain(conditions=LONG_READY)], ["p1"]),
    "exactly the time": (
        {"conditions": [{"minTimeSinceLastTransitionSeconds": 7200}]},
        [
            plain(conditions=LONG_READY),
            plain("p2", conditions=[a_condition("Ready", "True", since=ago(7199.9))]),
        ],
        ["p1"],
    ),
    "no transition time": (
        {"conditions": [{"minTimeSinceLastTransitionSeconds": 0}]},
        [plain(conditions=[a_condition("Ready", "True")])],
        [],
    ),
    "transition in the future": (
        {"conditions": [{"minTimeSinceLastTransitionSeconds": 0}]},
        [plain(conditions=[a_condition("Ready", "True", since=ago(-0.5))])],
        [],
    ),
}


@pytest.mark.parametrize(("args", "pods", "expected"), CONDITION_ROWS.values(), ids=CONDITION_ROWS.keys())
def test_conditions_agree_in_every_field_that_is_set(args: Object, pods: list[Object], expected: list[str]) -> None:
    assert found(args, pods) == expected


ENDED = plain(phase="Failed", statuses=[running(), terminated(exit_code=1)])
EXIT_CODE_ROWS = {
    "PL-43": ({"states": ["Failed"], "exitCodes": [1]}, [ENDED], ["p1"]),
    "PL-44": ({"states": ["Failed"], "exitCodes": [2]}, [ENDED], []),
    "init containers only when asked": ({"exitCodes": [1]}, [plain(init_statuses=[terminated(exit_code=1)])], []),
    "init containers": (
        {"exitCodes": [1], "includingInitContainers": True},
        [plain(init_statuses=[terminated(exit_code=1)])],
        ["p1"],
    ),
    "ephemeral containers never": (
        {"exitCodes": [1], "includingEphemeralContainers": True},
        [plain(ephemeral_statuses=[terminated(exit_code=1)])],
        [],
    ),
}


@pytest.mark.parametrize(("args", "pods", "expected"), EXIT_CODE_ROWS.values(), ids=EXIT_CODE_ROWS.keys())
def test_exit_codes_are_those_of_containers_that_ended(args: Object, pods: list[Object], expected: list[str]) -> None:
    assert found(args, pods) == expected


LIMITS: dict[str, Object] = {
    "PL-06": {"per_namespace": 1},
    "PL-07": {"per_namespace": 2, "total": 1},
    "PL-08": {"per_node": 1},
}


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS.keys())
def test_limits_leave_what_is_within_them(limits: Object) -> None:
    assert found(MAX, [new("p1"), old("p2")], **limits) == ["p2"]


def test_the_oldest_pods_of_the_cluster_go_first() -> None:
    """X-72."""
    pods = [aged("a", 3 * HOUR), aged("b", 5 * HOUR, node="n2"), aged("c", 4 * HOUR), aged("d", 2 * HOUR, node="n2")]
    assert found(MAX, [*pods, plain("without")]) == ["without", "b", "c", "a", "d"]


def test_pods_of_the_same_age_go_node_by_node() -> None:
    assert found(MAX, [old("a", node="n2"), old("b"), old("c", node="n2"), old("d")]) == ["b", "d", "a", "c"]


def test_the_limit_of_a_node_does_not_stop_other_nodes() -> None:
    """X-73."""
    pods = [aged("a", 5 * HOUR), aged("b", 3 * HOUR), aged("c", 4 * HOUR, node="n2"), aged("d", 2 * HOUR, node="n2")]
    assert found(MAX, pods, per_node=1) == ["a", "c"]
    assert found(MAX, pods, total=3) == ["a", "c", "b"]


def test_the_limit_of_a_namespace_does_not_stop_other_namespaces() -> None:
    pods = [aged("a", 5 * HOUR), aged("b", 4 * HOUR), a_pod("c", namespace="shop", node="n1", owner=RS, created=OLD)]
    assert found(MAX, pods, per_namespace=1) == ["shop/c", "a"]


def test_pods_on_nodes_that_are_not_listed_stay() -> None:
    nodes = [*NODES, std_node("n3")]
    pods = [old("p1"), old("p2", node="n3"), old("p3", node="gone"), a_pod("p4", owner=RS, created=OLD)]
    assert evictions("PodLifeTime", MAX, nodes=nodes, pods=pods, now=NOW, listed=["n1", "n2"]) == ["p1"]


REASONS = {
    "age": (MAX, aged("p1", 3 * 86400 + 4 * HOUR), "older than 10m (age 3d4h)"),
    "age and state": (
        {**MAX, "states": ["Pending"]},
        a_pod("p1", node="n1", owner=RS, created=ago(HOUR), phase="Pending"),
        "older than 10m (age 1h), state Pending",
    ),
    "condition": (
        {"conditions": [{"type": "Ready"}]},
        a_pod("p1", node="n1", owner=RS, created=ago(90), conditions=[a_condition("Ready", "False")]),
        "condition Ready False, age 1m30s",
    ),
    "exit code": ({"exitCodes": [1]}, ENDED, "exit code 1, no creation time"),
    "owner": (
        {"states": ["Failed"], "ownerKinds": {"include": ["ReplicaSet"]}},
        ENDED,
        "state Failed, owned by a ReplicaSet, no creation time",
    ),
}


@pytest.mark.parametrize(("args", "pod", "reason"), REASONS.values(), ids=REASONS.keys())
def test_the_reason_tells_every_criterion(args: Object, pod: Object, reason: str) -> None:
    done = cycle("PodLifeTime", args, nodes=NODES, pods=[pod], now=NOW)
    assert [each.reason for each in done.record.evictions] == [reason]


def test_a_transition_time_that_is_none_is_an_error_that_names_the_pod() -> None:
    pods = [plain(conditions=[a_condition("Ready", "True", since="yesterday")])]
    message = r'Pod default/p1: status.conditions: lastTransitionTime of Ready: "yesterday" is not a time'
    with pytest.raises(InputError, match=message):
        found({"conditions": [{"type": "Ready", "minTimeSinceLastTransitionSeconds": 1}]}, pods)
