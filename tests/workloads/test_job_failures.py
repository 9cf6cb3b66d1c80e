"""What the loss of a pod counts for in its Job. Source of the rules: Kubernetes 1.36, pkg/controller/job."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from restow.kube.objects import Job
from restow.workloads.job_failures import action_on_eviction, failures_so_far, most_failures


def a_job(status: dict[str, Any] | None = None, **spec: Any) -> Job:
    return msgspec.convert({"spec": spec, "status": status or {}}, Job)


def on_exit(action: str, *codes: int, operator: str = "In") -> dict[str, Any]:
    return {"action": action, "onExitCodes": {"operator": operator, "values": codes}}


def on_condition(action: str, **pattern: str) -> dict[str, Any]:
    return {"action": action, "onPodConditions": [{"type": "DisruptionTarget"} | pattern]}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param([], "Count", id="no-rule"),
        *(pytest.param([on_condition(each)], each, id=each) for each in ("Ignore", "Count", "FailJob", "FailIndex")),
        pytest.param([on_condition("Ignore", status="False")], "Count", id="another-status"),
        pytest.param([on_condition("Ignore", type="ConfigIssue")], "Count", id="another-condition"),
        pytest.param(
            [on_exit("FailJob", 42), on_condition("Ignore")], "Ignore", id="an-exit-code-that-stopping-does-not-give"
        ),
        pytest.param([on_exit("FailJob", 143), on_condition("Ignore")], "FailJob", id="SIGTERM-ends-the-job"),
        pytest.param([on_exit("FailJob", 1, operator="NotIn"), on_condition("Ignore")], "FailJob", id="NotIn"),
        pytest.param(
            [on_exit("FailJob", 137, 143, operator="NotIn"), on_condition("Ignore")], "Ignore", id="NotIn-both"
        ),
        pytest.param([on_exit("Ignore", 143)], "Count", id="it-may-end-by-another-code"),
        pytest.param([on_condition("Ignore"), on_exit("FailJob", 143)], "Ignore", id="the-first-rule-decides"),
    ],
)
def test_the_first_rule_that_an_evicted_pod_meets_decides(rules: list[dict[str, Any]], expected: str) -> None:
    assert action_on_eviction(a_job(podFailurePolicy={"rules": rules})) == expected


def test_without_a_policy_every_loss_counts() -> None:
    assert action_on_eviction(a_job()) == "Count"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, 6, id="six-by-default"),
        pytest.param({"backoffLimit": 0}, 0, id="none"),
        pytest.param({"backoffLimitPerIndex": 1}, None, id="a-limit-for-each-index-is-the-only-one"),
        pytest.param({"backoffLimitPerIndex": 1, "backoffLimit": 5}, 5, id="unless-both-are-there"),
    ],
)
def test_how_many_failures_a_job_bears(spec: dict[str, Any], expected: int | None) -> None:
    assert most_failures(a_job(**spec)) == expected


def test_failures_that_are_not_counted_yet_count() -> None:
    assert failures_so_far(a_job({"failed": 2, "uncountedTerminatedPods": {"failed": ["a"]}})) == 3
