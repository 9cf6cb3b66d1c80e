"""Disruption budgets, as the eviction API checks them, for the evictions of one plan; and the failures that Jobs allow.

A plan may use what ``status.disruptionsAllowed`` says now: what becomes free when replacements are ready is for the
next plan. Two budgets over one pod forbid its eviction altogether. ``cluster.budgets`` says which pods need none, and which
budgets KubeVirt has made for its virtual machines: these do not count where a machine is to be migrated live. A Job
allows a number of failures, and ``workloads.jobs`` says which evictions count (``JobFailures``). Source: policy/v1
eviction, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import Struct, structs

from restow.cluster.budgets import UNBUDGETED, CoveringBudgets, is_of_machine, unready_pod_is_exempt
from restow.cluster.left_out import UnreadableBudget
from restow.cluster.pod_values import Flag
from restow.cluster.snapshot import ClusterSnapshot, Key
from restow.descheduling.machines import wants_migration
from restow.kube.excerpts import title
from restow.kube.objects import Job, PodDisruptionBudget
from restow.policies.codes import RefusalCode
from restow.policies.policy import RestowSettings
from restow.workloads.jobs import (
    COUNT,
    IGNORE,
    action_on_eviction,
    failures_so_far,
    job_of,
    most_failures,
    replaces_only_ended,
)

#: Code and text of a refusal.
BudgetRefusal = tuple[RefusalCode, str]

_KIND = "PodDisruptionBudget"
#: Every pod is evicted.
_EVICTING = RestowSettings()

#: Why the eviction of a pod would end its Job.
OF_JOBS = (RefusalCode.JOB_BACKOFF_LIMIT, RefusalCode.JOB_FAILURE_POLICY)
#: Namespace and owners of a pod, as in their columns.
_Workload = tuple[int, int]


class BudgetUse(NamedTuple):
    """A budget that an eviction counts in: how many of its pods are healthy and have to be, and how many may still go."""

    name: str
    healthy: int
    wanted: int
    left: int


@dataclass(slots=True)
class DisruptionBudgets:
    """The budgets of a cluster and what a plan has used of them."""

    _budgets: list[tuple[Key, PodDisruptionBudget]]
    #: None: nothing is covered.
    _covers: CoveringBudgets | None
    _cluster: ClusterSnapshot
    #: None: evictions never make a Job fail.
    _jobs: JobFailures | None = None
    #: Says which virtual machines are to be migrated.
    _settings: RestowSettings = _EVICTING
    _used: Counter[int] = field(default_factory=Counter)

    @staticmethod
    def of(
        cluster: ClusterSnapshot, covering: CoveringBudgets, settings: RestowSettings = _EVICTING
    ) -> DisruptionBudgets:
        """The budgets of a cluster before any eviction is counted, by the settings of the policy."""
        budgets = list(cluster.kind(_KIND).items())
        return DisruptionBudgets(budgets, covering, cluster, JobFailures.of(cluster), settings)

    @staticmethod
    def none(cluster: ClusterSnapshot) -> DisruptionBudgets:
        """No budgets at all: every pod may be evicted."""
        return DisruptionBudgets([], None, cluster)

    def copy(self) -> DisruptionBudgets:
        """A copy that counts further evictions separately."""
        return replace(self, _used=self._used.copy(), _jobs=None if self._jobs is None else self._jobs.copy())

    def refusal(self, pod: int) -> BudgetRefusal | None:
        """Why one more pod, this one, may not be evicted: the API server would refuse it, or its Job would end."""
        return self._refused(self._covering(pod)) or (None if self._jobs is None else self._jobs.refusal(pod))

    def refusal_instead(self, pod: int) -> BudgetRefusal | None:
        """Why a pod that was to be migrated may not be evicted instead; None if it may, or was not to be migrated."""
        return self._refused(self._covering_eviction(pod)) if self._is_migrated(pod) else None

    def of_evictions(self) -> DisruptionBudgets:
        """The same budgets, with the same use, for moves that are all evictions."""
        return replace(self, _settings=_EVICTING)

    def _refused(self, covering: Sequence[int]) -> BudgetRefusal | None:
        if len(covering) > 1:
            names = ", ".join(_name(self._budgets[each][0]) for each in covering)
            return (
                RefusalCode.SEVERAL_BUDGETS,
                f"{names} cover it, and the API server evicts no pod with more than one budget",
            )
        for position in covering:
            key, budget = self._budgets[position]
            if isinstance(budget, UnreadableBudget):
                return (
                    RefusalCode.DISRUPTION_BUDGET,
                    f"{_name(key)} cannot be read, so it may cover the pod and allow no disruption",
                )
            left = budget.status.disruptions_allowed - self._used[position]
            if left <= 0:
                used = f"; this plan uses {self._used[position]}" if self._used[position] else ""
                return RefusalCode.DISRUPTION_BUDGET, f"{_name(key)} allows {max(0, left)} more disruptions{used}"
        return None

    def uses(self, pod: int) -> list[BudgetUse]:
        """The budgets in which the eviction of a pod counts, and what is left of each."""
        covering = [(position, *self._budgets[position]) for position in self._covering(pod)]
        return [
            BudgetUse(
                _name(key),
                budget.status.current_healthy,
                budget.status.desired_healthy,
                max(0, budget.status.disruptions_allowed - self._used[position]),
            )
            for position, key, budget in covering
        ]

    def count(self, pod: int) -> None:
        """Count the eviction of a pod."""
        self._used.update(self._covering(pod))
        if self._jobs is not None:
            self._jobs.count(pod)

    def _covering(self, pod: int) -> Sequence[int]:
        """The positions of the budgets in which the move of a pod counts."""
        found = self._covering_eviction(pod)
        if not found or not self._is_migrated(pod):
            return found
        return [position for position in found if not is_of_machine(self._budgets[position][1])]

    def _is_migrated(self, pod: int) -> bool:
        return wants_migration(self._cluster, self._settings, pod)

    def _covering_eviction(self, pod: int) -> Sequence[int]:
        """The positions of the budgets in which the eviction of a pod counts."""
        found = self._covers.of(pod) if self._covers is not None else ()
        if not found or self._cluster.pods.phase[pod] in UNBUDGETED:
            return []
        if len(found) == 1 and not self._is_ready(pod) and unready_pod_is_exempt(self._budgets[found[0]][1]):
            return []
        return found

    def _is_ready(self, pod: int) -> bool:
        pods = self._cluster.pods
        conditions = pods.tables.conditions[pods.conditions[pod]]
        ready = next((each for each in conditions if each.type == "Ready"), None)
        # Without conditions in the dump it is unknown; then the budget protects the pod.
        return ready is None or ready.status == "True"


# Whether an eviction counts as a failure depends on the Job (``workloads.jobs``). A plan may cause as many failures as
# a Job still allows; a failure never stops counting.
class JobFailures(Struct, frozen=True):
    """How many more failures the Jobs of a cluster allow, and how many a plan causes."""

    _cluster: ClusterSnapshot
    #: Terminating pods by workload: they count as failures once they have ended.
    _terminating: Mapping[_Workload, int]
    _used: Counter[_Workload] = msgspec.field(default_factory=Counter)
    #: Shared by all copies.
    _jobs: dict[_Workload, Job | None] = msgspec.field(default_factory=dict)

    @staticmethod
    def of(cluster: ClusterSnapshot) -> JobFailures:
        """The Jobs of a cluster before any eviction is counted."""
        pods = cluster.pods
        going = np.flatnonzero(pods.has(Flag.TERMINATING) & ~pods.terminal & pods.read())
        return JobFailures(
            cluster, Counter(zip(pods.namespace[going].tolist(), pods.owners[going].tolist(), strict=True))
        )

    def copy(self) -> JobFailures:
        """A copy that counts further evictions separately."""
        return structs.replace(self, _used=self._used.copy())

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
        return self._at_limit(pod, job, name) or self._index_at_limit(pod, job, name)

    def count(self, pod: int) -> None:
        """Count the eviction of a pod."""
        if self._job(pod) is not None:
            self._used[self._workload(pod)] += 1

    def _at_limit(self, pod: int, job: Job, name: str) -> tuple[RefusalCode, str] | None:
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

    def _index_at_limit(self, pod: int, job: Job, name: str) -> tuple[RefusalCode, str] | None:
        limit = job.spec.backoff_limit_per_index
        if limit is None:
            return None
        # How often an index has failed is not kept, only whether it has.
        if limit > 0 and not self._cluster.pods.carries(pod, Flag.INDEX_FAILED):
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


def _name(key: Key) -> str:
    return "/".join(key)
