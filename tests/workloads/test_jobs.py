"""Job: how many pods are active at a time, and which indexes come next."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from restow.cluster.pod_values import Phase
from restow.kube.objects import Job
from restow.workloads.controllers import BURST, ControlledPod, NewPod
from restow.workloads.jobs import action_on_eviction, failures_so_far, job, most_failures

INDEXED = {"completionMode": "Indexed"}


def does(*pods: ControlledPod, status: dict[str, Any] | None = None, **spec: Any) -> tuple[list[NewPod], list[str]]:
    """Pods that a Job creates, and names of those that it deletes."""
    done = job(msgspec.convert({"spec": spec, "status": status or {}}, Job), pods, now=0)
    return done.create, [pod.name for pod in done.delete]


def created(*pods: ControlledPod, status: dict[str, Any] | None = None, **spec: Any) -> int:
    return len(does(*pods, status=status, **spec)[0])


def indexes(*pods: ControlledPod, status: dict[str, Any] | None = None, **spec: Any) -> list[int | None]:
    return [new.index for new in does(*pods, status=status, **(INDEXED | spec))[0]]


def a_pod(index: int | None = None, **fields: Any) -> ControlledPod:
    return ControlledPod(f"p{index}", index=index, **fields)


@pytest.mark.parametrize(
    ("spec", "succeeded", "expected"),
    [
        pytest.param({}, 0, 1, id="one-by-default"),
        pytest.param({"completions": 10, "parallelism": 4}, 0, 4, id="so-many-at-a-time"),
        pytest.param({"completions": 10, "parallelism": 4}, 8, 2, id="no-more-than-are-left"),
        pytest.param({"completions": 10, "parallelism": 4}, 12, 0, id="all-done"),
        pytest.param({"parallelism": 4}, 0, 4, id="without-completions"),
        pytest.param({"parallelism": 4}, 1, 0, id="without-completions-once-one-has-succeeded"),
        pytest.param({"completions": 10, "parallelism": 4, "suspend": True}, 0, 0, id="suspended"),
    ],
)
def test_how_many_pods_are_wanted(spec: dict[str, Any], succeeded: int, expected: int) -> None:
    assert created(status={"succeeded": succeeded}, **spec) == expected


def test_pods_that_have_succeeded_and_are_not_counted_yet_count() -> None:
    status = {"succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["a"]}}
    assert created(status=status, completions=3, parallelism=3) == 1


def test_pods_that_are_active_are_not_created_again() -> None:
    pods = a_pod(), a_pod(phase=Phase.FAILED)
    assert created(*pods, completions=10, parallelism=3) == 2


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, 1, id="at-once"),
        pytest.param({"podReplacementPolicy": "TerminatingOrFailed"}, 1, id="at-once-because-it-says-so"),
        pytest.param({"podReplacementPolicy": "Failed"}, 0, id="when-it-has-ended"),
        pytest.param({"podFailurePolicy": {"rules": []}}, 0, id="when-it-is-known-how-it-ended"),
    ],
)
def test_a_job_says_when_a_terminating_pod_is_replaced(spec: dict[str, Any], expected: int) -> None:
    assert created(a_pod(terminating=True), completions=3, **spec) == expected
    assert created(a_pod(terminating=True, phase=Phase.FAILED), completions=3, **spec) == 1


def test_too_many_pods_are_deleted_the_least_missed_first() -> None:
    pods = a_pod(0), a_pod(1, ready=False), a_pod(2)
    assert does(*pods, completions=9, parallelism=2) == ([], ["p1"])


@pytest.mark.parametrize("condition", ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"])
def test_a_job_that_ends_takes_its_pods_with_it(condition: str) -> None:
    pods = a_pod(0), a_pod(1, terminating=True), a_pod(2, phase=Phase.SUCCEEDED)
    for status, done in (("True", ([], ["p0"])), ("False", ([NewPod()], []))):
        conditions = {"conditions": [{"type": condition, "status": status}]}
        assert does(*pods, status=conditions, completions=9, parallelism=2) == done


def test_a_suspended_job_has_no_pods() -> None:
    assert does(a_pod(0), completions=3, suspend=True) == ([], ["p0"])


def test_the_lowest_indexes_come_first_that_are_neither_there_nor_ended() -> None:
    status = {"succeeded": 3, "completedIndexes": "0,3-4", "failedIndexes": "6"}
    pods = a_pod(1), a_pod(5, phase=Phase.FAILED)
    assert indexes(*pods, status=status, completions=9, parallelism=4) == [2, 5, 7]
    assert indexes(*pods, status=status, completions=8, parallelism=9) == [2, 5, 7]


def test_an_index_is_taken_as_long_as_its_pod_terminates_where_the_job_waits_for_that() -> None:
    pod = a_pod(0, terminating=True)
    assert indexes(pod, completions=3, parallelism=2) == [0, 1]
    assert indexes(pod, completions=3, parallelism=2, podReplacementPolicy="Failed") == [1]


@pytest.mark.parametrize("text", ["x", "1-", f"0-{2**31}", "9" * 5000, "5-1", "0,0,0"])
def test_odd_indexes_do_no_harm(text: str) -> None:
    assert len(indexes(status={"completedIndexes": text}, completions=3)) <= 1


def test_however_many_are_asked_for_so_many_come_at_a_time() -> None:
    most = 2**31 - 1
    assert created(parallelism=most) == BURST
    assert len(indexes(completions=most, parallelism=most)) == BURST


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
