"""From a snapshot and a policy to the tasks of a cycle, and how long deciding took.

A task adds to its move what carrying it out depends on: the controller, the limit of the workload, the budgets, and
whether the replacement may change places with another one of the plan.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

import numpy as np
from msgspec import Struct, field

from restow.cluster.budgets import CoveringBudgets, is_of_machine
from restow.cluster.owners import OwnerCounts, owner_of, pods_of_workloads, workload_of
from restow.cluster.pod_classes import Aspect, ClassKeys, values_of
from restow.cluster.pod_values import Flag
from restow.cluster.pods import NO_POD, Pods
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.arbiter import Eviction, Searches
from restow.descheduling.cycle import Cycle
from restow.descheduling.framework import Reason
from restow.descheduling.limits import PriorEviction
from restow.descheduling.placement import GIVEN_UP
from restow.descheduling.plan import Fenced, Utilisation
from restow.descheduling.registry import strategies
from restow.executing.surroundings import ExecutionSettings
from restow.executing.task import Task
from restow.policies.codes import Placement, RefusalCode, ReplacementMode, Stage, SteeringMode
from restow.policies.policy import Policy, share_of
from restow.proving.planning import decided, fenced, named_move, placement_of, utilisation
from restow.proving.planning_cache import PlanningCache
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.usage.measured import container_usage, pod_metrics
from restow.workloads.groups import Groups
from restow.workloads.replacements import ReplacementPolicies

#: What interchangeable pods have in common besides their priority.
_ALIKE = Aspect.NODE_FIT | Aspect.PORTS | Aspect.SCHEDULER
#: The kind of objects that says what single pods use.
_MEASURED = "PodMetrics"
_UID: Final = attrgetter("uid")
#: What soft topology spread constraints have for an action.
_ONLY_SCORES: Final = "ScheduleAnyway"


class Interchange:
    """Which replacements of one plan are interchangeable.

    Two are if neither the scheduler nor a strategy would notice an exchange: they are alike, and the same strategy moved
    them. None is if a strategy of the policy looks at whose pods are where, or if usage is measured, since no two pods
    use the same.
    """

    def __init__(self, cluster: ClusterSnapshot, policy: Policy) -> None:
        self._pods = cluster.pods
        self._keys = ClassKeys(cluster.pods, _ALIKE)
        enabled = {name for profile in policy.profiles for name in (*profile.deschedule, *profile.balance)}
        measured = bool(cluster.usage) or bool(cluster.kind(_MEASURED))
        self._may = not measured and all(strategies()[name].by_parts for name in enabled)

    def kind(self, eviction: Eviction) -> Hashable | None:
        """Equal for replacements that may change places; None if a replacement may not.

        One that has volumes, is steered or is moved together with others has its own place.
        """
        pods, pod = self._pods, eviction.pod
        if not self._may or eviction.landing.steering is not None or eviction.together is not None:
            return None
        if pods.tables.volumes[pods.volumes[pod]]:
            return None
        return eviction.ref, int(pods.priority[pod]), self._keys.of(pod)


def tasks_of(cycle: Cycle, policy: Policy) -> tuple[Task, ...]:
    """The moves of a cycle by a policy, in order."""
    if not cycle.record.evictions:
        return ()
    tasks = _Tasks(cycle, policy)
    return tuple(tasks.task(number, eviction) for number, eviction in enumerate(cycle.record.evictions))


class _Tasks:
    """Makes the tasks of one plan."""

    def __init__(self, cycle: Cycle, policy: Policy) -> None:
        self._cluster = cluster = cycle.state.cluster
        self._share = policy.restow.per_workload
        self._sizes = _Sizes(cluster, cycle.record.evictions)
        covering = cycle.covering or CoveringBudgets(cluster, cycle.labels)
        self._budgets = _budgets(cluster, covering, cycle.record.evictions)
        self._replacement_policies = ReplacementPolicies(cluster)
        self._interchange = Interchange(cluster, policy)
        self._groups = cycle.groups or Groups(cluster, ExecutionSettings.of(policy.restow).group_kinds)

    def task(self, number: int, eviction: Eviction) -> Task:
        pod, pods = eviction.pod, self._cluster.pods
        workload, group = workload_of(self._cluster, pod), self._groups.of(pod)
        is_rolled_out = eviction.landing.mode is ReplacementMode.ROLLOUT
        return Task(
            number=number,
            move=named_move(self._cluster, eviction),
            owner=owner_of(pods, pod),
            workload=workload.uid if workload is not None else pods.uids[pod],
            replacement_policy=self._replacement_policies.of(pod),
            limit=share_of(self._share, self._sizes.of(pod)) or 1,
            budgets=self._budgets.get(pod, frozenset()),
            request_only=pods.carries(pod, Flag.REQUEST_EVICT_ONLY),
            is_independent=_is_independent(pods, pod),
            interchangeable=self._interchange.kind(eviction) if _is_independent(pods, pod) else None,
            group=str(group or ""),
            restarts=group is not None and group.kind.restarts and eviction.together is not None,
            replacement=self._replacement(pod),
            gate=pods.uids[pod] if is_rolled_out else "",
            used=eviction.used or _measured(self._cluster, pod),
        )

    def _replacement(self, pod: int) -> Mapping[str, Any]:
        """What the scheduler reads of the replacement that the plan has placed."""
        pods = self._cluster.pods
        replacement = int(pods.replaced_by[pod])
        if replacement == NO_POD:
            return {}
        return {**values_of(pods, replacement, Aspect.SCHEDULING), "priority": int(pods.priority[replacement])}


class _Sizes:
    """How many pods each owner of the pods that move has, without those that have ended."""

    def __init__(self, cluster: ClusterSnapshot, evictions: Sequence[Eviction]) -> None:
        pods, tables = cluster.pods, cluster.pods.tables
        owners = {each.uid for eviction in evictions for each in tables.owners[pods.owners[eviction.pod]]}
        # Nearly all pods name one owner.
        among = [
            each[0].uid in owners if len(each) == 1 else not owners.isdisjoint(map(_UID, each))
            for each in tables.owners
        ]
        self._counts = OwnerCounts(pods, pods.read() & ~pods.terminal & np.array(among, dtype=bool)[pods.owners])

    def of(self, pod: int) -> int:
        return int(self._counts.of_pod(pod).max(initial=0)) or 1


def _measured(cluster: ClusterSnapshot, pod: int) -> Mapping[str, int]:
    """What metrics.k8s.io says that a pod uses."""
    metrics = pod_metrics(cluster, pod)
    used: Counter[str] = Counter()
    for container in (metrics.containers or ()) if metrics is not None else ():
        used.update(container_usage(container))
    return used


def _is_independent(pods: Pods, pod: int) -> bool:
    """Whether no required pod affinity, anti-affinity or spread constraint makes other pods decide where a pod may go."""
    rules, spread = pods.tables.rules[pods.rules[pod]], pods.tables.spread[pods.spread[pod]]
    terms = [each for each in (rules.pod_affinity, rules.pod_anti_affinity) if each is not None and each.required]
    return not terms and all(each.when_unsatisfiable == _ONLY_SCORES for each in spread)


def _budgets(
    cluster: ClusterSnapshot, covering: CoveringBudgets, evictions: Sequence[Eviction]
) -> dict[int, frozenset[str]]:
    """The budgets over each pod that moves and has any; those of virtual machines only if they do not migrate."""
    budgets = list(cluster.kind("PodDisruptionBudget").items())
    found: dict[int, frozenset[str]] = {}
    for each in evictions:
        migrates = each.landing.mode is ReplacementMode.MIGRATE
        over = [budgets[position] for position in covering.of(each.pod)]
        names = frozenset("/".join(key) for key, budget in over if not (migrates and is_of_machine(budget)))
        if names:
            found[each.pod] = names
    return found


class CycleRules(Struct, frozen=True):
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


class Before(Struct, frozen=True):
    """What has happened before a decision and limits it."""

    #: What the cycle has evicted already.
    prior_evictions: Sequence[PriorEviction] = ()
    #: Pods (uids) that it could not evict.
    given_up: Collection[str] = ()
    #: Workloads (uids) that are left alone, and why.
    resting: Mapping[str, str] = field(default_factory=dict)
    #: The only pods (uids) that a proven plan may move; None: all.
    may_move: Collection[str] | None = None
    #: What strategies searched for in the plan before, in this cycle or an earlier one.
    searches: Searches = field(default_factory=dict)


class CycleDecision(Struct, frozen=True):
    """The decision on one snapshot."""

    cycle: Cycle
    tasks: tuple[Task, ...]
    utilisation: Utilisation
    #: What the moves count on; None where nothing is fenced.
    fence: Fenced | None
    #: What deciding took.
    seconds: float


def decide(
    cluster: ClusterSnapshot,
    rules: CycleRules,
    before: Before,
    now: int,
    *,
    steering: SteeringMode = SteeringMode.NONE,
    cache: PlanningCache | None = None,
) -> CycleDecision:
    """Decide at a time (nanoseconds since the epoch), with the steering that the cluster offers and the policy wants.

    ``cache`` is what earlier decisions about that cluster have left, None: nothing; the plan is taken back there.
    InputError for what a policy names and is not there.
    """
    began, policy = time.perf_counter(), rules.policy
    try:
        cycle = decided(
            cluster,
            policy,
            rules.placement,
            now,
            rules.profiles,
            steering=steering,
            prior_evictions=before.prior_evictions,
            excluded=_excluded(cluster, before),
            may_move=before.may_move,
            searches=before.searches,
            cache=cache,
        )
        tasks = tasks_of(cycle, policy)
        return CycleDecision(cycle, tasks, utilisation(cycle.state), fenced(cycle), time.perf_counter() - began)
    finally:
        if cache is not None:
            cache.take_back_plan()


def _excluded(cluster: ClusterSnapshot, before: Before) -> dict[str, Reason]:
    """Why pods (uids) stay, even if a strategy suggests them."""
    excluded: dict[str, Reason] = dict.fromkeys(before.given_up, GIVEN_UP)
    if before.resting:
        for pod, workload in pods_of_workloads(cluster, before.resting):
            excluded[cluster.pods.uids[pod]] = (Stage.PLACEMENT, RefusalCode.BACK_OFF, before.resting[workload])
    return excluded
