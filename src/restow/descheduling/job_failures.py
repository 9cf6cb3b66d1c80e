"""Evictions as failures of Jobs: a Job whose pods fail too often ends, and what it has worked on is lost.

What an eviction counts for is the Job's to say (``workloads.jobs``). A plan may cause as many failures as a Job
still allows; they are never given back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from restow.cluster.pods import Flag
from restow.cluster.snapshot import Cluster
from restow.kube.excerpts import title
from restow.kube.objects import Job
from restow.policies.codes import RefusalCode
from restow.workloads.jobs import (
    COUNT,
    IGNORE,
    action_on_eviction,
    failures_so_far,
    job_of,
    most_failures,
    replaces_only_ended,
)

#: Why a Job does not bear the loss of a pod.
OF_JOBS = (RefusalCode.JOB_BACKOFF_LIMIT, RefusalCode.JOB_FAILURE_POLICY)
#: Namespace and owners of a pod, as in their columns.
_Workload = tuple[int, int]


@dataclass(slots=True, frozen=True)
class JobFailures:
    """How many more failures the Jobs of a cluster allow, and how many a plan causes."""

    _cluster: Cluster
    #: Terminating pods by workload: they count as failures once they have ended.
    _terminating: Mapping[_Workload, int]
    _used: Counter[_Workload] = field(default_factory=Counter)
    #: Shared by all copies.
    _jobs: dict[_Workload, Job | None] = field(default_factory=dict)

    @staticmethod
    def of(cluster: Cluster) -> JobFailures:
        """The Jobs of a cluster before any eviction is counted."""
        pods = cluster.pods
        going = np.flatnonzero(pods.has(Flag.TERMINATING) & ~pods.terminal & pods.read())
        return JobFailures(
            cluster, Counter(zip(pods.namespace[going].tolist(), pods.owners[going].tolist(), strict=True))
        )

    def copy(self) -> JobFailures:
        """A copy that counts further evictions separately."""
        return replace(self, _used=self._used.copy())

    def refusal(self, pod: int) -> tuple[RefusalCode, str] | None:
        """Why the eviction of this pod would end its Job or its index: code and text; None if it would not."""
        job = self._job(pod)
        if job is None:
            return None
        name = title("Job", job.metadata.namespace, job.metadata.name)
        action = action_on_eviction(job)
        if action == IGNORE:
            return None
        if action != COUNT:
            return RefusalCode.JOB_FAILURE_POLICY, f"the podFailurePolicy of {name} has {action} for an evicted pod"
        return self._spent(pod, job, name) or self._index_spent(pod, job, name)

    def count(self, pod: int) -> None:
        """Count the eviction of a pod."""
        if self._job(pod) is not None:
            self._used[self._workload(pod)] += 1

    def _spent(self, pod: int, job: Job, name: str) -> tuple[RefusalCode, str] | None:
        limit = most_failures(job)
        if limit is None:
            return None
        workload = self._workload(pod)
        used, failed = self._used[workload], failures_so_far(job)
        if replaces_only_ended(job):
            failed += self._terminating.get(workload, 0)
        if used + failed < limit:
            return None
        planned = f", and {used} more by this plan" if used else ""
        message = f"{name} has backoffLimit {limit} and has had {failed}{planned}: the eviction would count and end it"
        return RefusalCode.JOB_BACKOFF_LIMIT, message

    def _index_spent(self, pod: int, job: Job, name: str) -> tuple[RefusalCode, str] | None:
        limit = job.spec.backoff_limit_per_index
        if limit is None:
            return None
        # How often an index has failed is not kept, only whether it has.
        if limit > 0 and not self._cluster.pods.flags[pod] & Flag.INDEX_FAILED:
            return None
        had = "; this one has failed before" if limit > 0 else ""
        return RefusalCode.JOB_BACKOFF_LIMIT, f"{name} has backoffLimitPerIndex {limit}{had}: the eviction would count"

    def _job(self, pod: int) -> Job | None:
        """The Job in which the eviction of a pod could count."""
        workload = self._workload(pod)
        if workload not in self._jobs:
            self._jobs[workload] = job_of(self._cluster, pod)
        job = self._jobs[workload]
        return None if job is None or self._cluster.pods.terminal[pod] else job

    def _workload(self, pod: int) -> _Workload:
        return int(self._cluster.pods.namespace[pod]), int(self._cluster.pods.owners[pod])
