"""Groups that cannot be decided about because their pods differ too much, and where the scheduler says what it decided.

Source: frameworkForPodGroup of Kubernetes 1.36, validatePodGroup of 1.37.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from restow.cluster.pod_values import Flag
from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.objects import PodGroup
from restow.scheduling.framework.minors import GROUPS_PREEMPT, holds
from restow.scheduling.framework.scheduling_groups import GroupKey
from restow.scheduling.loop.schedulers import Schedulers

_ALIKE: Final = "all pods in a single pod group should have the same"


def scheduled_condition(cluster: ClusterSnapshot) -> str:
    """The type of the condition in a PodGroup's status that says whether its pods got nodes."""
    return "PodGroupInitiallyScheduled" if holds(GROUPS_PREEMPT, cluster) else "PodGroupScheduled"


def mismatch(schedulers: Schedulers, key: GroupKey, group: PodGroup, pods: Sequence[int]) -> str:
    """In what pods differ that have to be alike, in the scheduler's words; empty where they are.

    Since 1.37 priorities and preemption policies count too, and those of pods that have nodes.
    """
    if not holds(GROUPS_PREEMPT, schedulers.cluster):
        found = (_other_scheduler(schedulers.cluster, pods[0], each) for each in pods)
    else:
        everyone = (*pods, *schedulers.groups.placed(key))
        found = (_difference(schedulers.cluster, group, each, pods[0]) for each in everyone)
    return next(filter(None, found), "")


def _scheduler(cluster: ClusterSnapshot, pod: int) -> str:
    asked: str = cluster.pods.tables.schedulers[cluster.pods.schedulers[pod]]
    return asked


def _other_scheduler(cluster: ClusterSnapshot, pod: int, another: int) -> str:
    own, other = _scheduler(cluster, pod), _scheduler(cluster, another)
    return f'{_ALIKE} .spec.schedulerName set, got: "{own}" and "{other}"' if own != other else ""


def _difference(cluster: ClusterSnapshot, group: PodGroup, pod: int, first: int) -> str:
    if other := _other_scheduler(cluster, pod, first):
        return other
    priority, wanted = int(cluster.pods.priority[pod]), group.spec.priority
    if priority != wanted:
        return f"{_ALIKE} priority as the pod group's priority, got {priority} and {wanted}"
    policy, others = (_preemption_policy(cluster, each) for each in (pod, first))
    return f"{_ALIKE} preemption policy, got {policy} and {others}" if policy != others else ""


def _preemption_policy(cluster: ClusterSnapshot, pod: int) -> str:
    return "Never" if cluster.pods.carries(pod, Flag.NEVER_PREEMPTS) else "PreemptLowerPriority"
