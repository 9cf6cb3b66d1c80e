"""From a snapshot and a policy to the tasks of a cycle, and how long deciding took."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from restow.cluster.owners import pods_of_workloads
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.cycle import Cycle
from restow.descheduling.evictor import Reason
from restow.descheduling.limits import PriorEviction
from restow.descheduling.placement import GIVEN_UP
from restow.descheduling.plan import Fenced, Utilisation
from restow.descheduling.planning import decided, fenced, placement_of, utilisation
from restow.executing.task import Task
from restow.executing.tasks import tasks_of
from restow.policies.codes import Placement, RefusalCode, Stage, SteeringMode
from restow.policies.policy import Policy
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile


@dataclass(slots=True, frozen=True)
class CycleRules:
    """The policy and options that cycles are decided by."""

    policy: Policy
    #: None leaves it to the policy.
    asked_placement: Placement | None = None
    #: Of the cluster's schedulers.
    profiles: Sequence[SchedulerProfile] = (DEFAULT_PROFILE,)
    #: The document that they come from, for plans that are kept; None where there is none.
    scheduler_configuration: dict[str, Any] | None = None

    @property
    def placement(self) -> Placement:
        """How moves are placed: as asked for, else as the policy says, else proven."""
        return placement_of(self.asked_placement, self.policy)


@dataclass(slots=True, frozen=True)
class Before:
    """What has happened before a decision and limits it."""

    #: What the cycle has evicted already.
    prior_evictions: Sequence[PriorEviction] = ()
    #: Pods (uids) that it could not evict.
    given_up: Collection[str] = ()
    #: Workloads (uids) that are left alone, and why.
    resting: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, frozen=True)
class CycleDecision:
    """The decision on one snapshot."""

    cycle: Cycle
    tasks: tuple[Task, ...]
    utilisation: Utilisation
    #: What the moves count on; None where nothing is fenced.
    fence: Fenced | None
    #: What deciding took.
    seconds: float


def decide(
    cluster: ClusterSnapshot, rules: CycleRules, before: Before, now: int, *, steering: SteeringMode = SteeringMode.NONE
) -> CycleDecision:
    """Decide at a time (nanoseconds since the epoch), with the steering that the cluster offers and the policy wants.

    InputError for what a policy names and is not there.
    """
    began, policy = time.perf_counter(), rules.policy
    excluded = _excluded(cluster, before)
    cycle = decided(
        cluster,
        policy,
        rules.placement,
        now,
        rules.profiles,
        steering=steering,
        prior_evictions=before.prior_evictions,
        excluded=excluded,
    )
    tasks = tasks_of(cycle, policy)
    return CycleDecision(cycle, tasks, utilisation(cycle.state), fenced(cycle), time.perf_counter() - began)


def _excluded(cluster: ClusterSnapshot, before: Before) -> dict[str, Reason]:
    """Why pods (uids) stay, even if a strategy suggests them."""
    excluded: dict[str, Reason] = dict.fromkeys(before.given_up, GIVEN_UP)
    if before.resting:
        for pod, workload in pods_of_workloads(cluster, before.resting):
            excluded[cluster.pods.uids[pod]] = (Stage.PLACEMENT, RefusalCode.BACK_OFF, before.resting[workload])
    return excluded
