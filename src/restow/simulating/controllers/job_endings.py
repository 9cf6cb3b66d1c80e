"""What ends a Job: functions without I/O.

The first of these that is true ends it, and it stays so: what its status says already, a failure that
``podFailurePolicy`` makes fatal, more failures than ``backoffLimit``, ``activeDeadlineSeconds``, more failed indexes
than ``maxFailedIndexes``, and ``successPolicy``. Source: the Job controller, Kubernetes 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from restow.kube.manifests import Job
from restow.kube.objects import SuccessRule
from restow.kube.timestamps import SECOND, parse_time
from restow.simulating.controllers.job_accounting import JobTally, PodVerdict, as_read, indexes_in, verdict
from restow.simulating.controllers.job_indexes import given_up
from restow.workloads.jobs import most_failures

#: Conditions of a Job that has to end, while its last pods terminate.
SUCCESS: Final = "SuccessCriteriaMet"
FAILURE: Final = "FailureTarget"


@dataclass(slots=True, frozen=True)
class JobEnding:
    """The condition that says that a Job has to end."""

    type: str
    reason: str


COMPLETED: Final = JobEnding(SUCCESS, "CompletionsReached")


def ending_of(job: Job, seen: JobTally, now: int) -> JobEnding | None:
    """Why a Job has to end regardless of its pods; None if it continues. ``now`` is in nanoseconds since the epoch."""
    for kind in (SUCCESS, FAILURE):
        for each in job.status.conditions or ():
            if each.type == kind and each.status == "True":
                return JobEnding(kind, each.reason or "")
    reason = _why_failed(job, seen, now)
    if reason:
        return JobEnding(FAILURE, reason)
    return JobEnding(SUCCESS, "SuccessPolicy") if _succeeds_by_policy(job, seen) else None


def is_complete(job: Job, seen: JobTally, active: int) -> bool:
    """Whether enough pods have succeeded and none is ``active``."""
    enough = 1 if job.spec.completions is None else job.spec.completions
    return seen.succeeded >= enough and active == 0


def deadline_in(job: Job, now: int) -> int | None:
    """In how many nanoseconds a Job has run for too long, 0 if it has; None if it never does."""
    limit = job.spec.active_deadline_seconds
    if limit is None or job.status.start_time is None or job.spec.suspend:
        return None
    return max(0, parse_time(job.status.start_time) + limit * SECOND - now)


def _why_failed(job: Job, seen: JobTally, now: int) -> str:
    """The reason why a Job has failed; empty if it has not."""
    if any(verdict(job, pod) is PodVerdict.FAILS_JOB for pod in seen.pods):
        return "PodFailurePolicy"
    limit = most_failures(as_read(job))
    if limit is not None and (seen.failed > limit or _restarts_too_often(job, seen, limit)):
        return "BackoffLimitExceeded"
    if deadline_in(job, now) == 0:
        return "DeadlineExceeded"
    failed = given_up(job, seen)
    if job.spec.max_failed_indexes is not None and len(failed) > job.spec.max_failed_indexes:
        return "MaxFailedIndexesExceeded"
    ended = len(failed) + len(seen.completed)
    return "FailedIndexes" if failed and ended >= (job.spec.completions or 0) else ""


def _restarts_too_often(job: Job, seen: JobTally, limit: int) -> bool:
    """Whether containers that are started again in their pods have failed as often as pods may."""
    if job.spec.template.spec.get("restartPolicy") != "OnFailure":
        return False
    containers = (each for pod in seen.pods if not pod.is_over for each in pod.status.container_statuses or ())
    return sum(each.restart_count for each in containers) >= max(limit, 1)


def _succeeds_by_policy(job: Job, seen: JobTally) -> bool:
    policy = job.spec.success_policy
    if policy is None or not seen.completed:
        return False
    return any(_is_met(rule, seen.completed, job.spec.completions or 0) for rule in policy.rules or ())


def _is_met(rule: SuccessRule, completed: frozenset[int], completions: int) -> bool:
    if rule.succeeded_indexes is None:
        return rule.succeeded_count is not None and len(completed) >= rule.succeeded_count
    wanted = {index for index in indexes_in(rule.succeeded_indexes) if index < completions}
    met = len(wanted & completed)
    return bool(wanted) and (met == len(wanted) or (rule.succeeded_count is not None and met >= rule.succeeded_count))
