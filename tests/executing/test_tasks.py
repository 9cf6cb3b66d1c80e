"""From a cycle to tasks."""

from __future__ import annotations

from typing import Any

import pytest

from builders import (
    a_node,
    a_pdb,
    a_pod,
    a_replica_set,
    pod_affinity,
    pod_anti_affinity,
    pod_term,
    spread,
)
from descheduling.harness import cycle
from restow.executing.deciding import tasks_of
from restow.policies.policy import Policy, RestowSettings
from restow.workloads.replacements import ReplacementPolicy


def duplicates(count: int):
    """Pods of one ReplicaSet on one of two nodes."""
    owner = ("ReplicaSet", "web")
    pods = [a_pod(f"web-{at}", node="a", owner=owner, images=["app"], labels={"app": "web"}) for at in range(count)]
    others = [
        a_replica_set("web", selector={"matchLabels": {"app": "web"}}),
        a_pdb("web", selector={"matchLabels": {"app": "web"}}),
        a_pdb("api", selector={"matchLabels": {"app": "api"}}),
    ]
    return cycle("RemoveDuplicates", {}, nodes=[a_node("a"), a_node("b")], pods=pods, others=others)


def test_a_task_has_the_names_the_owner_and_the_budgets_of_its_move() -> None:
    first, *_ = tasks_of(duplicates(4), Policy())
    assert (first.number, first.move.source, first.move.pod.name) == (0, "a", "web-2")
    assert first.owner is not None
    assert first.owner.kind == "ReplicaSet"
    assert first.budgets == {"default/web"}
    assert first.replacement_policy is ReplacementPolicy.OVERLAPPING
    assert first.limit == 1


def test_a_percentage_is_of_the_workloads_pods_and_one_at_least() -> None:
    limits = [
        tasks_of(duplicates(10), Policy(restow=RestowSettings(per_workload=share)))[0].limit
        for share in (3, "1%", "25%", "100%")
    ]
    assert limits == [3, 1, 2, 10]


def test_a_pod_may_ask_that_its_eviction_is_a_request() -> None:
    owner = ("ReplicaSet", "web")
    asks = {"descheduler.alpha.kubernetes.io/request-evict-only": ""}
    pods = [a_pod(f"web-{at}", node="a", owner=owner, images=["app"], annotations=asks) for at in range(2)]
    pods += [a_pod(f"api-{at}", node="a", owner=("ReplicaSet", "api"), images=["app"]) for at in range(2)]
    decided = cycle("RemoveDuplicates", {}, nodes=[a_node("a"), a_node("b")], pods=pods)
    found = {task.move.pod.name: task.request_only for task in tasks_of(decided, Policy())}
    assert found == {"web-1": True, "api-1": False}


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ({}, True),
        ({"spread": [spread(when="ScheduleAnyway")]}, True),
        ({"spread": [spread()]}, False),
        ({"affinity": pod_anti_affinity([pod_term({"matchLabels": {"app": "x"}})])}, False),
        ({"affinity": pod_affinity([pod_term({"matchLabels": {"app": "web"}})])}, False),
    ],
    ids=["no rule", "a spread that only scores", "spread", "anti-affinity", "affinity"],
)
def test_a_pod_is_independent_where_no_rule_of_it_is_about_other_pods(features: Any, expected: bool) -> None:
    labels, owner = {"app": "web"}, ("ReplicaSet", "web")
    pods = [a_pod(f"web-{at}", node="a", owner=owner, images=["app"], labels=labels, **features) for at in range(2)]
    decided = cycle("RemoveDuplicates", {}, nodes=[a_node("a"), a_node("b")], pods=pods)
    assert [each.is_independent for each in tasks_of(decided, Policy())] == [expected]
