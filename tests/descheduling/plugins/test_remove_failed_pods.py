"""RemoveFailedPods: which failed pods are done with.

Ids are the rows of upstream's own unit tests (RF) and of scenarios that were run against upstream (X), restated.
Upstream's tests bypass the default of an hour, which is a minimum of 0 here.
Excluded: validation of the arguments (tests/policies).
"""

from __future__ import annotations

from typing import Any

import pytest

from builders import NOW, RS, Object, a_pod, ago, std_node, terminated, waiting
from descheduling.harness import WALK_LIMITS, cycle, evictions, refusals

NODES = [std_node("n1"), std_node("n2")]
HOUR = 3600
DAY = 24 * HOUR


def found(args: Object, pods: list[Object], **more: Any) -> list[str]:
    args = {"minPodLifetimeSeconds": 0} | args
    return evictions("RemoveFailedPods", args, nodes=NODES, pods=pods, now=NOW, **more)


def failed(name: str = "p1", state: Object | None = None, *, init: Object | None = None, **more: Any) -> Object:
    """A failed pod, created now unless told, with the state of one regular or one init container."""
    given = {"node": "n1", "owner": RS, "created": NOW, "cpu": "1m", "memory": "1", "phase": "Failed"} | more
    return a_pod(name, statuses=[state] if state else None, init_statuses=[init] if init else None, **given)


AFFINITY = terminated("NodeAffinity")
INIT: Object = {"includingInitContainers": True}
CONFIG = "CreateContainerConfigError"

ROWS: dict[str, tuple[Object, list[Object], list[str]]] = {
    "RF-01": ({}, [], []),
    "RF-02": ({}, [a_pod("p1", node="n1", owner=RS, created=NOW)], []),
    "RF-03": ({}, [failed("p1", AFFINITY)], ["p1"]),
    "RF-04": ({"exitCodes": [1]}, [failed("p1", terminated(exit_code=1))], ["p1"]),
    "RF-05": ({"exitCodes": [1]}, [failed("p1", terminated("NodeAffinity", exit_code=1))], ["p1"]),
    "RF-07": (
        {"exitCodes": [1, 2, 3]},
        [failed("p1", terminated(exit_code=1)), failed("p2", terminated(exit_code=2))],
        ["p1", "p2"],
    ),
    "RF-08": (
        {"exitCodes": [1]},
        [failed("p1", terminated(exit_code=1)), failed("p2", terminated(exit_code=2))],
        ["p1"],
    ),
    "RF-09": (INIT, [failed("p1", init=AFFINITY)], ["p1"]),
    "RF-10": ({**INIT, "exitCodes": [1]}, [failed("p1", terminated(exit_code=1))], ["p1"]),
    "RF-11": ({**INIT, "exitCodes": [1]}, [failed("p1", terminated(exit_code=2))], []),
    "RF-15": ({"reasons": [CONFIG, "NodeAffinity"]}, [failed("p1", terminated(CONFIG))], ["p1"]),
    "RF-16": ({"reasons": [CONFIG]}, [failed("p1", AFFINITY)], []),
    "RF-18": ({"minPodLifetimeSeconds": 3600}, [failed("p1", AFFINITY)], []),
    "RF-21": ({**INIT, "excludeOwnerKinds": ["ReplicaSet"]}, [failed("p1", init=AFFINITY)], []),
    "RF-22": ({**INIT, "excludeOwnerKinds": ["DaemonSet"]}, [failed("p1", init=AFFINITY)], ["p1"]),
    "RF-23": ({**INIT, "excludeOwnerKinds": ["DaemonSet"]}, [failed("p1", init=AFFINITY, deleted=NOW)], []),
    "RF-25": (
        {"reasons": ["Shutdown"]},
        [failed("p1", reason="Shutdown"), failed("p2", reason="Shutdown")],
        ["p1", "p2"],
    ),
    "a waiting reason": ({"reasons": ["ImagePullBackOff"]}, [failed("p1", waiting("ImagePullBackOff"))], ["p1"]),
    "no reason is no reason": ({"reasons": [""]}, [failed("p1", terminated(""))], []),
    "init reason, not asked": ({"reasons": ["NodeAffinity"]}, [failed("p1", init=AFFINITY)], []),
    "init reason": ({**INIT, "reasons": ["NodeAffinity"]}, [failed("p1", init=AFFINITY)], ["p1"]),
    "init exit code, not asked": ({"exitCodes": [1]}, [failed("p1", init=terminated(exit_code=1))], []),
    "reason and exit code": (
        {"reasons": ["Error"], "exitCodes": [1]},
        [failed("p1", terminated("Error", exit_code=2)), failed("p2", terminated("Error", exit_code=1))],
        ["p2"],
    ),
}


@pytest.mark.parametrize(("args", "pods", "expected"), ROWS.values(), ids=ROWS.keys())
def test_failed_pods_that_meet_every_criterion_go(args: Object, pods: list[Object], expected: list[str]) -> None:
    assert found(args, pods) == expected


AGES = {
    "3599.5 s": (3599.5, []),
    "3600 s": (3600, ["p1"]),
    "3601.5 s": (3601.5, ["p1"]),
    "half a second ahead": (-0.5, []),
    "a second ahead": (-1, ["p1"]),
    "ten minutes ahead": (-600, ["p1"]),
}


@pytest.mark.parametrize(("age", "expected"), AGES.values(), ids=AGES.keys())
def test_the_minimum_age_is_reached_by_whole_seconds_and_by_pods_from_the_future(
    age: float, expected: list[str]
) -> None:
    """X-74: upstream reads the age as an unsigned number."""
    assert found({"minPodLifetimeSeconds": 3600}, [failed("p1", created=ago(age))]) == expected


def test_pods_get_an_hour_unless_the_policy_says_otherwise() -> None:
    """X-75."""
    pods = [failed("p1", created=ago(HOUR - 1)), failed("p2", created=ago(HOUR)), failed("p3", created=None)]
    assert evictions("RemoveFailedPods", {}, nodes=NODES, pods=pods, now=NOW) == ["p2", "p3"]


def test_bare_failed_pods_go_only_if_the_evictor_lets_them() -> None:
    pods = [failed("p1", AFFINITY, owner=None)]
    assert found({}, pods) == []
    assert found({}, pods, evictor={"evictFailedBarePods": True}) == ["p1"]


def test_only_failed_pods_that_meet_the_criteria_are_noted_as_refused() -> None:
    pods = [
        failed("bare", created=ago(DAY), owner=None),
        failed("young", owner=None),
        a_pod("alive", node="n1", created=ago(DAY)),
    ]
    assert refusals("RemoveFailedPods", {}, nodes=NODES, pods=pods, now=NOW) == {"bare": "NoOwner"}


PER_NODE = [failed("c", node="n1"), failed("d", node="n1"), failed("a", node="n2"), failed("b", node="n2")]


@pytest.mark.parametrize(("limits", "expected"), WALK_LIMITS.values(), ids=WALK_LIMITS)
def test_pods_go_node_by_node_until_a_limit(limits: Object, expected: list[str]) -> None:
    assert found({}, PER_NODE, **limits) == expected


REASONS: dict[str, tuple[Object, Object, str]] = {
    "nothing asked": ({}, failed("p1", created=ago(2 * DAY)), "failed, age 2d"),
    "reason": (
        {"reasons": ["Evicted"]},
        failed("p1", reason="Evicted", created=ago(2 * DAY)),
        "failed, reason Evicted, age 2d",
    ),
    "exit code": (
        {"exitCodes": [137]},
        failed("p1", terminated("OOMKilled", exit_code=137), created=ago(2 * DAY)),
        "failed, exit code 137, age 2d",
    ),
    "from the future": ({}, failed("p1", created=ago(-60)), "failed, created in the future"),
}


@pytest.mark.parametrize(("args", "pod", "reason"), REASONS.values(), ids=REASONS.keys())
def test_the_reason_tells_what_was_asked_for(args: Object, pod: Object, reason: str) -> None:
    done = cycle("RemoveFailedPods", args, nodes=NODES, pods=[pod], now=NOW)
    assert [each.reason for each in done.record.evictions] == [reason]
