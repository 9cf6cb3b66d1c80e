"""Indexes of a Job that are tried again, each by a limit and a wait of its own: functions without I/O.

How often an index has failed stands in an annotation of its pod. A pod that has failed is held until the next one of its
index is there and has taken that over. Source: the Job controller's backoffLimitPerIndex, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from restow.kube.label_syntax import parse_integer
from restow.kube.manifests import Job, Pod
from restow.simulating.controllers.job_accounting import JobTally, PodVerdict, index_of, indexes_in, verdict
from restow.simulating.controllers.job_waits import back_off, finished_at

#: How often the index of a pod has failed before: failures that count, and those that do not.
FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED: Final = "batch.kubernetes.io/job-index-ignored-failure-count"


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
