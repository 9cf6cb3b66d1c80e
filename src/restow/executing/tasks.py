"""Makes tasks of a decided cycle: adds the controller, the limit of the workload and the budgets to each move."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from restow.cluster.budgets import covered_pods
from restow.cluster.label_groups import LabelGroups
from restow.cluster.owners import OwnerCounts, owner_of, workload_of
from restow.cluster.pod_classes import Aspect, values_of
from restow.cluster.pod_values import Flag
from restow.cluster.pods import NO_POD, Pods
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.usage import container_usage, pod_metrics
from restow.descheduling.arbiter import Eviction
from restow.descheduling.cycle import Cycle
from restow.descheduling.planning import named_move
from restow.executing.places import Interchange
from restow.executing.settings import ExecutionSettings
from restow.executing.task import Task
from restow.policies.policy import Policy
from restow.policies.restow_section import share_of
from restow.workloads.groups import Groups
from restow.workloads.replacement_policy import ReplacementPolicies

#: ``whenUnsatisfiable`` of soft topology spread constraints.
_ONLY_SCORES: Final = "ScheduleAnyway"


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
        self._sizes = _Sizes(cluster)
        self._budgets = _budgets(cluster, cycle.labels, [each.pod for each in cycle.record.evictions])
        self._replacement_policies = ReplacementPolicies(cluster)
        self._interchange = Interchange(cluster, policy)
        self._groups = Groups(cluster, ExecutionSettings.of(policy.restow).group_kinds)

    def task(self, number: int, eviction: Eviction) -> Task:
        pod, pods = eviction.pod, self._cluster.pods
        workload, group = workload_of(self._cluster, pod), self._groups.of(pod)
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
    """How many pods each owner has, without those that have ended."""

    def __init__(self, cluster: ClusterSnapshot) -> None:
        self._counts = OwnerCounts(cluster.pods, cluster.pods.read() & ~cluster.pods.terminal)

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


def _budgets(cluster: ClusterSnapshot, labels: LabelGroups, evicted: Sequence[int]) -> dict[int, frozenset[str]]:
    """The budgets over each evicted pod that has any."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    is_evicted = np.zeros(len(cluster.pods), dtype=bool)
    is_evicted[list(evicted)] = True
    for key, budget in cluster.kind("PodDisruptionBudget").items():
        covered = covered_pods(budget, cluster, labels)
        for pod in covered[is_evicted[covered]].tolist():
            found[pod].append("/".join(key))
    return {pod: frozenset(names) for pod, names in found.items()}
