"""Evictions of Job pods: the real Job controller counts them as restow says, and ends the Job at the one restow refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import Object
from builders.policies import Policy, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.proving import plan_of
from e2e.rest import name_of
from e2e.waiting import wait_until
from e2e.workloads import job, pods_of, wait_for_ready

pytestmark = pytest.mark.e2e

#: Pods work on until the test is over.
WORKING = {"test/complete-delay": "1h"}
IGNORES = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
ENDS = {"rules": [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def a_running_job(plane: ControlPlane, namespace: str, **spec: Any) -> list[Object]:
    """Two pods of the Job ``work``."""
    made = job("work", 2, namespace=namespace, annotations=WORKING)
    made["spec"] |= spec
    plane.admin.create(made)
    return wait_for_ready(plane.admin, "work", 2, namespace)


def aged(namespace: str) -> Policy:
    """Wants every pod of a namespace to go."""
    return strategy_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 0, "namespaces": {"include": [namespace]}})


def status_of(plane: ControlPlane, namespace: str) -> Object:
    status: Object = plane.admin.get("Job", "work", namespace)["status"]
    return status


def has_failed(plane: ControlPlane, namespace: str) -> Object | None:
    """The condition that says so."""
    conditions = status_of(plane, namespace).get("conditions", ())
    return next((each for each in conditions if each["type"] == "Failed" and each["status"] == "True"), None)


def evict(plane: ControlPlane, pod: Object, namespace: str) -> None:
    answer = plane.admin.evict(name_of(pod), namespace)
    assert answer.status == 201, answer.body


def end(plane: ControlPlane, pod: Object, namespace: str) -> None:
    """What a kubelet says of a pod whose container SIGTERM has ended."""
    killed = {"name": "c0", "state": {"terminated": {"exitCode": 143, "reason": "Error"}}, "image": "", "imageID": ""}
    status = {"phase": "Failed", "containerStatuses": [killed | {"ready": False, "restartCount": 0}]}
    plane.admin.patch("Pod", name_of(pod), {"status": status}, namespace, part="status")


def test_the_eviction_that_restow_refuses_is_the_one_that_ends_the_job(
    plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    pods = {name_of(pod): pod for pod in a_running_job(plane, namespace, backoffLimit=1)}
    plan = plan_of(plane, aged(namespace), tmp_path)
    (move,), (refusal,) = plan["moves"], plan["refusals"]
    assert (refusal["stage"], refusal["code"]) == ("budget", "JobBackoffLimit")

    evict(plane, pods[move["pod"]["name"]], namespace)
    wait_until("the eviction is counted", lambda: status_of(plane, namespace).get("failed") == 1)
    assert not has_failed(plane, namespace)
    again = plan_of(plane, aged(namespace), tmp_path)
    assert {each["code"] for each in again["refusals"]} == {"JobBackoffLimit"}
    assert not again["moves"]

    evict(plane, pods[refusal["pod"]["name"]], namespace)
    failed = wait_until("the Job has ended", lambda: has_failed(plane, namespace))
    assert failed["reason"] == "BackoffLimitExceeded"


def test_a_policy_that_ignores_disruptions_lets_pods_go(plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    """And its replacements come once the old pods have ended, whatever else the Job says."""
    first, second = a_running_job(plane, namespace, backoffLimit=0, podFailurePolicy=IGNORES)
    plan = plan_of(plane, aged(namespace), tmp_path)
    assert len(plan["moves"]) == 2

    evict(plane, first, namespace)
    assert [name_of(pod) for pod in pods_of(plane.admin, "work", namespace)] == [name_of(second)]
    end(plane, first, namespace)
    wait_for_ready(plane.admin, "work", 2, namespace)
    assert not status_of(plane, namespace).get("failed")
    assert not has_failed(plane, namespace)


def test_a_policy_that_ends_the_job_keeps_pods_in_place(plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    first, _ = a_running_job(plane, namespace, podFailurePolicy=ENDS)
    plan = plan_of(plane, aged(namespace), tmp_path)
    assert not plan["moves"]
    assert {each["code"] for each in plan["refusals"]} == {"JobFailurePolicy"}

    evict(plane, first, namespace)
    end(plane, first, namespace)
    failed = wait_until("the Job has ended", lambda: has_failed(plane, namespace))
    assert failed["reason"] == "PodFailurePolicy"


def test_a_job_without_completions_creates_no_pods_after_the_first_success(
    plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    first, second = a_running_job(plane, namespace, completions=None)
    plane.admin.patch("Pod", name_of(first), {"status": {"phase": "Succeeded"}}, namespace, part="status")
    wait_until("the success is counted", lambda: status_of(plane, namespace).get("succeeded") == 1)
    (refusal,) = (
        each for each in plan_of(plane, aged(namespace), tmp_path)["refusals"] if each["pod"]["name"] == name_of(second)
    )
    assert refusal["code"] == "NoReplacement"

    evict(plane, second, namespace)
    wait_until("the Job counts it", lambda: status_of(plane, namespace).get("failed") == 1)
    wait_until("no pod is active", lambda: not status_of(plane, namespace).get("active"))
    assert [name_of(pod) for pod in pods_of(plane.admin, "work", namespace)] == [name_of(first)]
