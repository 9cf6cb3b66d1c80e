"""Budgets as the eviction API asks them, used up over a plan. Source: policy/v1 eviction, Kubernetes 1.36."""

from __future__ import annotations

from typing import Any

import pytest

from builders import a_condition, a_node, a_pdb, a_pod
from descheduling.harness import a_cluster
from restow.cluster.label_groups import LabelGroups
from restow.descheduling.disruption_budgets import DisruptionBudgets

WEB = {"matchLabels": {"app": "web"}}
NOT_READY = [a_condition("Ready", "False")]


def budgets_of(*budgets: dict[str, Any], **pod: Any) -> DisruptionBudgets:
    """Budgets over three pods of app=web."""
    pods = [a_pod(f"p{index}", node="n1", labels={"app": "web"}, **pod) for index in range(3)]
    cluster = a_cluster(a_node("n1"), *pods, *budgets)
    return DisruptionBudgets.of(cluster, LabelGroups(cluster.pods))


def test_a_plan_may_use_what_the_status_allows() -> None:
    budgets = budgets_of(a_pdb("web", selector=WEB, disruptions_allowed=2))
    for pod in (0, 1):
        assert budgets.refusal(pod) is None
        budgets.count(pod)
    assert budgets.refusal(2) == (
        "DisruptionBudget",
        "default/web allows 0 more disruptions; this plan uses 2",
    )


def test_a_copy_counts_on_its_own() -> None:
    budgets = budgets_of(a_pdb("web", selector=WEB, disruptions_allowed=1))
    budgets.copy().count(0)
    assert budgets.refusal(1) is None


def test_a_budget_that_allows_nothing() -> None:
    budgets = budgets_of(a_pdb("web", selector=WEB))
    assert budgets.refusal(0) == ("DisruptionBudget", "default/web allows 0 more disruptions")


def test_two_budgets_over_one_pod_forbid_its_eviction() -> None:
    """However much they allow."""
    refusal = budgets_of(*(a_pdb(name, selector=WEB, disruptions_allowed=9) for name in ("a", "b"))).refusal(0)
    assert refusal is not None
    assert refusal[0] == "SeveralBudgets"


def test_budgets_of_other_namespaces_and_pods_do_not_count() -> None:
    elsewhere = a_pdb("web", namespace="shop", selector=WEB)
    others = a_pdb("db", selector={"matchLabels": {"app": "db"}})
    assert budgets_of(elsewhere, others).refusal(0) is None


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_pods_that_do_not_run_need_no_budget(phase: str) -> None:
    assert budgets_of(a_pdb("web", selector=WEB), phase=phase).refusal(0) is None


@pytest.mark.parametrize(
    ("status", "needs"),
    [
        pytest.param({"current_healthy": 2, "desired_healthy": 2}, False, id="enough are healthy without it"),
        pytest.param({"current_healthy": 1, "desired_healthy": 2}, True, id="too few are healthy"),
        pytest.param({}, True, id="nothing is desired"),
        pytest.param({"unhealthy_pod_eviction_policy": "AlwaysAllow"}, False, id="always allowed"),
        pytest.param({"unhealthy_pod_eviction_policy": "IfHealthyBudget"}, True, id="only with a healthy budget"),
    ],
)
def test_pods_that_are_not_ready(status: dict[str, Any], needs: bool) -> None:
    budgets = budgets_of(a_pdb("web", selector=WEB, **status), conditions=NOT_READY)
    assert (budgets.refusal(0) is not None) == needs


def test_none_stands_over_nothing() -> None:
    cluster = a_cluster(a_node("n1"), a_pod("p", node="n1"), a_pdb("all", selector={}))
    assert DisruptionBudgets.none(cluster).refusal(0) is None
