"""What the pods of a Job that have ended count for: functions without I/O.

A pod counts once, when it has ended; or, unless ``podReplacementPolicy`` is ``Failed``, as soon as its deletion begins.
``podFailurePolicy`` may have other rules. Source: the Job controller, Kubernetes 1.36.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from restow.kube.label_syntax import parse_integer
from restow.kube.manifests import Job, Pod
from restow.kube.manifests.jobs import JobStatus
from restow.kube.objects import Job as ReadJob
from restow.kube.objects import PodFailureRule
from restow.workloads.jobs import IGNORE, index_ranges, is_indexed, replaces_only_ended

INDEX: Final = "batch.kubernetes.io/job-completion-index"
#: Holds a pod until it is counted.
TRACKING: Final = "batch.kubernetes.io/job-tracking"


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
    policy = job.spec.pod_failure_policy
    for rule in (policy and policy.rules) or ():
        if _applies(rule, pod):
            return _ACTIONS.get(rule.action, PodVerdict.FAILED)
    return PodVerdict.FAILED


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


def with_counts(job: Job, seen: JobTally, failed: int, given_up: Iterable[int]) -> JobStatus:
    """The status of a Job after successes and a number of failures; ``given_up`` are indexes."""
    return structs.replace(
        job.status,
        succeeded=seen.succeeded,
        failed=failed,
        completed_indexes=indexes_text(seen.completed),
        failed_indexes=indexes_text(given_up),
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


def _applies(rule: PodFailureRule, pod: Pod) -> bool:
    if rule.on_exit_codes is not None:
        states = (each.state for each in pod.status.container_statuses or ())
        codes = [each.terminated.exit_code for each in states if each and each.terminated and each.terminated.exit_code]
        among = [code in (rule.on_exit_codes.values or ()) for code in codes]
        return any(among) if rule.on_exit_codes.operator == "In" else any(not each for each in among)
    known = {(each.type, each.status) for each in pod.status.conditions or ()}
    return any((each.type, each.status) in known for each in rule.on_pod_conditions or ())
