"""Budgets as the eviction API asks them, used up over a plan. Source: policy/v1 eviction, Kubernetes 1.36."""

from __future__ import annotations

from typing import Any

import pytest

from builders import NOW, a_condition, a_node, a_pdb, a_pod, a_workload, ago
from descheduling.harness import a_cluster, a_policy
from explaining.explained import explained, gates, told, view
from proving.proven import TOLD, codes, moved, prove, proven, reasons
from restow.cluster.budgets import CoveringBudgets
from restow.cluster.pod_classes import LabelGroups
from restow.proving.disruption_budgets import DisruptionBudgets, JobFailures
from restow.workloads.replacements import ReplacementPolicies, ReplacementPolicy

WEB = {"matchLabels": {"app": "web"}}
NOT_READY = [a_condition("Ready", "False")]

NODES = [a_node("n1"), a_node("n2")]
OF_JOB = ("Job", "import")
TAINTED = [a_node("n1", taints=["moving=:NoSchedule"]), a_node("n2", cpu="8")]
DISRUPTED = {"onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


def budgets_of(*budgets: dict[str, Any], **pod: Any) -> DisruptionBudgets:
    """Budgets over three pods of app=web."""
    pods = [a_pod(f"p{index}", node="n1", labels={"app": "web"}, **pod) for index in range(3)]
    cluster = a_cluster(a_node("n1"), *pods, *budgets)
    return DisruptionBudgets.of(cluster, CoveringBudgets(cluster, LabelGroups(cluster.pods)))


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


# Source of the rules: Kubernetes 1.36, pkg/controller/job.
def a_job(*, status=None, **spec):
    return a_workload("Job", "import", spec=spec) | {"status": status or {}}


def rule(action):
    return {"action": action} | DISRUPTED


def pod(name="p", **fields):
    return a_pod(name, node="n1", **({"owner": OF_JOB} | fields))


def refused(job, *pods):
    failures = JobFailures.of(a_cluster(*NODES, job, *(pods or [pod()])))
    found = failures.refusal(0)
    return found and found[0]


@pytest.mark.parametrize(
    ("spec", "failed", "bears"),
    [
        pytest.param({"backoffLimit": 0}, 0, False, id="none-allowed"),
        pytest.param({"backoffLimit": 1}, 0, True, id="one-left"),
        pytest.param({"backoffLimit": 3}, 3, False, id="all-used"),
        pytest.param({}, 5, True, id="six-without-a-limit"),
        pytest.param({}, 6, False, id="six-used"),
        pytest.param({"backoffLimitPerIndex": 1}, 50, True, id="a-limit-for-each-index-is-the-only-one"),
        pytest.param({"backoffLimitPerIndex": 1, "backoffLimit": 5}, 5, False, id="unless-both-are-there"),
        pytest.param({"backoffLimitPerIndex": 0}, 0, False, id="no-index-may-fail"),
    ],
)
def test_an_eviction_is_a_failure(spec, failed, bears):
    assert refused(a_job(status={"failed": failed}, **spec)) == (None if bears else "JobBackoffLimit")


def test_failures_that_are_not_counted_yet_count():
    assert refused(a_job(backoffLimit=1, status={"uncountedTerminatedPods": {"failed": ["a"]}})) == "JobBackoffLimit"


def test_an_index_that_has_failed_before_is_not_tried_again():
    job = a_job(backoffLimitPerIndex=2)
    label = "batch.kubernetes.io/job-index-failure-count"
    assert refused(job, pod(annotations={label: "0"})) is None
    assert refused(job, pod(annotations={label: "1"})) == "JobBackoffLimit"


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_pods_that_are_over_have_been_counted(phase):
    assert refused(a_job(backoffLimit=0), pod(phase=phase)) is None


def test_other_owners_and_jobs_that_the_input_does_not_hold_count_nothing():
    assert refused(a_job(backoffLimit=0), pod(owner=("ReplicaSet", "import"))) is None
    assert refused(a_job(backoffLimit=0), pod(owner=("Job", "other"))) is None


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param([rule("Ignore")], None, id="evictions-do-not-count"),
        pytest.param([rule("Count")], "JobBackoffLimit", id="evictions-count"),
        pytest.param([rule("FailJob")], "JobFailurePolicy", id="evictions-end-the-job"),
        pytest.param([rule("FailIndex")], "JobFailurePolicy", id="evictions-end-the-index"),
    ],
)
def test_a_failure_policy_says_what_evictions_count_for(rules, expected):
    assert refused(a_job(backoffLimit=0, podFailurePolicy={"rules": rules})) == expected


def test_pods_that_terminate_count_once_they_have_ended():
    pods = pod(), pod("q", deleted=ago(5))
    assert refused(a_job(backoffLimit=1, podReplacementPolicy="Failed"), *pods) == "JobBackoffLimit"
    assert refused(a_job(backoffLimit=1), *pods) is None, "these are in the status already"


def test_copies_count_on_their_own():
    failures = JobFailures.of(a_cluster(*NODES, a_job(backoffLimit=1), pod(), pod("q")))
    copy = failures.copy()
    copy.count(0)
    assert failures.refusal(1) is None
    code, message = copy.refusal(1)
    assert code == "JobBackoffLimit"
    assert message == (
        "Job default/import has backoffLimit 1 and has had 0, and 1 more by this plan: "
        "the eviction would count and end it"
    )


def plan(*objects):
    return proven("RemovePodsViolatingNodeTaints", {}, *TAINTED, *objects)


def test_a_plan_evicts_as_many_as_a_job_bears():
    done = plan(a_job(backoffLimit=3, status={"failed": 1}), *(pod(name, cpu="100m") for name in "abcd"))
    assert moved(done) == ["a", "b"]
    assert codes(done) == {"c": "JobBackoffLimit", "d": "JobBackoffLimit"}
    assert {stage for stage, *_ in reasons(done).values()} == {"budget"}


def test_a_job_that_ignores_disruptions_moves_all():
    job = a_job(backoffLimit=0, podFailurePolicy={"rules": [rule("Ignore")]})
    assert moved(plan(job, *(pod(name, cpu="100m") for name in "abcd"))) == ["a", "b", "c", "d"]


def test_without_jobs_in_the_input_nobody_knows():
    told_of = [each for each in TOLD if each["kind"] != "Job"]
    policy = a_policy("RemovePodsViolatingNodeTaints", {})
    done = prove([*TAINTED, *told_of, pod(), pod("r", owner=("ReplicaSet", "rs"))], policy, NOW)
    assert moved(done) == ["r"]
    assert reasons(done) == {"p": ("budget", "Unknown", "its eviction depends on Jobs, which the input lacks")}
    assert done.missing == {"Job"}


def test_an_explanation_says_what_would_help():
    found = explained(a_policy("RemovePodsViolatingNodeTaints", {}), *TAINTED, a_job(backoffLimit=0), pod())
    assert gates(found)["budget"] == (False, "JobBackoffLimit")
    assert [told(each) for each in view(found).changes] == [
        ["with a podFailurePolicy of its Job that ignores DisruptionTarget first"]
    ]


def test_a_failure_policy_has_replacements_wait():
    """A Job with a ``podFailurePolicy`` replaces only what has ended, since it has to see how."""
    job = a_job(podFailurePolicy={"rules": [rule("Ignore")]})
    assert ReplacementPolicies(a_cluster(*NODES, job, pod())).of(0) is ReplacementPolicy.AFTERWARDS


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, ReplacementPolicy.NONE, id="no-completions"),
        pytest.param({"completions": 5}, ReplacementPolicy.OVERLAPPING, id="completions"),
    ],
)
def test_a_job_that_only_waits_for_its_last_pods_creates_none(spec, expected):
    job = a_job(parallelism=3, status={"succeeded": 1}, **spec)
    assert ReplacementPolicies(a_cluster(*NODES, job, pod())).of(0) is expected
