"""What the pods of a Job count for, and what follows from the counts: functions without I/O.

A pod counts once, when it has ended; or, unless ``podReplacementPolicy`` is ``Failed``, as soon as its deletion begins.
The Job may have rules of its own for failures (``workloads.jobs``). After failures new pods wait (10 s, twice as long after each one more, 10
minutes at most), with ``backoffLimitPerIndex`` those of each index by themselves. A Job ends by the first of these that
is true, and it stays so: what its status says already, a failure that such a rule makes fatal, more failures
than ``backoffLimit``, ``activeDeadlineSeconds``, more failed indexes than ``maxFailedIndexes``, and ``successPolicy``.
Source: the Job controller, Kubernetes 1.36.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from restow.kube.manifests import Job, Pod
from restow.kube.manifests.workloads import JobStatus
from restow.kube.numbers import parse_integer
from restow.kube.objects import Job as ReadJob
from restow.kube.objects import SuccessRule
from restow.kube.timestamps import SECOND, parse_time
from restow.workloads.jobs import (
    IGNORE,
    action_on_failure,
    index_ranges,
    is_indexed,
    most_failures,
    replaces_only_ended,
)

INDEX: Final = "batch.kubernetes.io/job-completion-index"
#: Holds a pod until it is counted.
TRACKING: Final = "batch.kubernetes.io/job-tracking"
#: How often the index of a pod has failed before: failures that count, and those that do not.
FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
#: Conditions of a Job that has to end, while its last pods terminate.
SUCCESS: Final = "SuccessCriteriaMet"
FAILURE: Final = "FailureTarget"
#: How long new pods wait after one failure, and at most.
_FIRST: Final = 10 * SECOND
_LONGEST: Final = 600 * SECOND
#: The most doublings of the wait, to keep numbers small.
_DOUBLINGS: Final = 20


class PodVerdict(enum.Enum):
    """What a pod counts for."""

    RUNS = "it still runs"
    SUCCEEDED = "a success"
    FAILED = "a failure"
    IGNORED = "nothing"
    FAILS_INDEX = "the end of its index"
    FAILS_JOB = "the end of the Job"


@dataclass(slots=True, frozen=True)
class JobTally:
    """The pods of a Job, and its counts together with those that are not in its status yet."""

    pods: Sequence[Pod]
    #: Neither over nor terminating.
    active: Sequence[Pod]
    #: Held pods that have succeeded, and that have failed.
    new_succeeded: Sequence[Pod]
    new_failed: Sequence[Pod]
    succeeded: int
    failed: int
    #: The indexes that have succeeded; of a Job without indexes none.
    completed: frozenset[int]


_ACTIONS = {IGNORE: PodVerdict.IGNORED, "FailJob": PodVerdict.FAILS_JOB, "FailIndex": PodVerdict.FAILS_INDEX}


def verdict(job: Job, pod: Pod) -> PodVerdict:
    """What a pod counts for now."""
    if pod.status.phase == "Succeeded":
        return PodVerdict.SUCCEEDED
    fails_at_once = pod.metadata.is_terminating and not replaces_only_ended(as_read(job))
    if pod.status.phase != "Failed" and not fails_at_once:
        return PodVerdict.RUNS
    return _judged(job, pod)


def _judged(job: Job, pod: Pod) -> PodVerdict:
    """What the failure of a pod is by the policy of its Job."""
    states = (each.state for each in pod.status.container_statuses or ())
    codes = [each.terminated.exit_code for each in states if each and each.terminated and each.terminated.exit_code]
    conditions = {(each.type, each.status) for each in pod.status.conditions or ()}
    return _ACTIONS.get(action_on_failure(as_read(job), codes, conditions), PodVerdict.FAILED)


def tally(job: Job, pods: Sequence[Pod]) -> JobTally:
    """What there is of a Job now."""
    counted = [(pod, verdict(job, pod)) for pod in pods if is_held(pod) and is_valid(job, pod)]
    succeeded = [pod for pod, found in counted if found is PodVerdict.SUCCEEDED]
    failed = [(pod, found) for pod, found in counted if found not in (PodVerdict.SUCCEEDED, PodVerdict.RUNS)]
    completed = {index for index in indexes_in(job.status.completed_indexes) if index < (job.spec.completions or 0)}
    completed.update(index for index in map(index_of, succeeded) if index is not None and is_indexed(as_read(job)))
    return JobTally(
        pods=pods,
        active=[pod for pod in pods if pod.is_active],
        new_succeeded=succeeded,
        new_failed=[pod for pod, _ in failed],
        succeeded=len(completed) if is_indexed(as_read(job)) else job.status.succeeded + len(succeeded),
        failed=job.status.failed + sum(found is not PodVerdict.IGNORED for _, found in failed),
        completed=frozenset(completed),
    )


def with_counts(job: Job, seen: JobTally, failed: int) -> JobStatus:
    """The status of a Job with its successes and failed indexes, and after a number of failures."""
    return structs.replace(
        job.status,
        succeeded=seen.succeeded,
        failed=failed,
        completed_indexes=indexes_text(seen.completed),
        failed_indexes=indexes_text(given_up(job, seen)),
    )


def is_held(pod: Pod) -> bool:
    """Whether a pod is not counted yet."""
    return TRACKING in (pod.metadata.finalizers or ())


def is_valid(job: Job, pod: Pod) -> bool:
    """Whether a pod can count: each one of an indexed Job has an index that is wanted."""
    index = index_of(pod)
    return not is_indexed(as_read(job)) or (index is not None and index < (job.spec.completions or 0))


def counts_as_failed(job: Job, pod: Pod) -> bool:
    """Whether a pod that has failed, or that its Job takes down with it, is one failure more."""
    return is_valid(job, pod) and _judged(job, pod) is not PodVerdict.IGNORED


def as_read(job: Job) -> ReadJob:
    """A Job as ``workloads.jobs`` takes it."""
    return ReadJob(spec=job.spec, status=job.status)


def index_of(pod: Pod) -> int | None:
    """The completion index of a pod; None if it has none."""
    index = parse_integer(pod.metadata.annotation(INDEX))
    return None if index is None or index < 0 else index


def indexes_in(text: str | None) -> set[int]:
    """The indexes of a text such as ``0,2-5``."""
    return {index for first, last in index_ranges(text) for index in range(first, last + 1)}


def indexes_text(indexes: Iterable[int]) -> str | None:
    """The text of some indexes; None for none."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ",".join(map(_run_text, runs)) or None


def _run_text(run: list[int]) -> str:
    if len(run) == 1:
        return str(run[0])
    return f"{run[0]}{',' if len(run) == 2 else '-'}{run[-1]}"


def back_off(failures: int, last: int, now: int) -> int:
    """Nanoseconds that the back-off still lasts after a number of failures, the last at ``last``; 0 or less if over."""
    return last + min(_FIRST << min(failures - 1, _DOUBLINGS), _LONGEST) - now if failures else 0


def finished_at(pod: Pod) -> int:
    """When a pod ended or its deletion began, in nanoseconds since the epoch."""
    ended = next(
        (each for each in pod.status.conditions or () if each.type == "Ready" and each.status == "False"), None
    )
    if pod.is_over and ended is not None and ended.last_transition_time:
        return parse_time(ended.last_transition_time)
    if pod.metadata.deletion_timestamp is not None:
        grace = pod.metadata.deletion_grace_period_seconds or 0
        return parse_time(pod.metadata.deletion_timestamp) - grace * SECOND
    return parse_time(pod.metadata.creation_timestamp or "")


def given_up(job: Job, seen: JobTally) -> frozenset[int]:
    """The indexes that are not tried again."""
    limit, known = job.spec.backoff_limit_per_index, indexes_in(job.status.failed_indexes)
    if limit is None:
        return frozenset()
    for pod in seen.new_failed:
        index, found = index_of(pod), verdict(job, pod)
        if index is not None and (
            found is PodVerdict.FAILS_INDEX or (found is not PodVerdict.IGNORED and _number(pod, FAILURES) >= limit)
        ):
            known.add(index)
    return frozenset(known)


def to_be_replaced(job: Job, seen: JobTally) -> Mapping[int, Pod]:
    """The last pod that has failed of each index that is tried again; none where only the whole Job has a limit."""
    if job.spec.backoff_limit_per_index is None:
        return {}
    settled = {*seen.completed, *given_up(job, seen), *map(index_of, seen.active)}
    failed = sorted(seen.new_failed, key=lambda pod: (_failures(pod), finished_at(pod)))
    return {index: pod for pod in failed if (index := index_of(pod)) is not None and index not in settled}


def wait_after(replaced: Pod, now: int) -> int:
    """How long it takes until the next pod of an index may come, in nanoseconds."""
    return back_off(_failures(replaced) + 1, finished_at(replaced), now)


def notes(job: Job, replaced: Pod | None) -> dict[str, str]:
    """The annotations of a new pod, with what the one before it is counted for."""
    if job.spec.backoff_limit_per_index is None:
        return {}
    if replaced is None:
        return {FAILURES: "0"}
    is_ignored = verdict(job, replaced) is PodVerdict.IGNORED
    ignored = _number(replaced, IGNORED) + is_ignored
    annotations = {FAILURES: str(_number(replaced, FAILURES) + (not is_ignored))}
    return annotations | ({IGNORED: str(ignored)} if ignored else {})


def _failures(pod: Pod) -> int:
    return _number(pod, FAILURES) + _number(pod, IGNORED)


def _number(pod: Pod, annotation: str) -> int:
    return max(0, parse_integer(pod.metadata.annotation(annotation)) or 0)


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
