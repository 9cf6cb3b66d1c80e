"""GangScheduling: no pod of a group is tried before its PodGroup is there, and a gang before it has as many pods as it needs.

What it does at Permit, to let a group have all its nodes or none, is ``scheduling.loop.group_cycle``; in 1.35, where groups are
those of Workloads, it is ``scheduling.loop.permit_waiting``.
Source: GangScheduling, Kubernetes 1.35 to 1.37.
"""

from __future__ import annotations

from typing import Any

from restow.scheduling.framework.declaration import Availability, SchedulerPlugin
from restow.scheduling.framework.requeueing import Action, ClusterEvent, Interest, PodFacts, QueueSurroundings, Resource
from restow.scheduling.framework.scheduling_groups import least_of

NAME = "GangScheduling"


def _waits_for_group(pod: PodFacts, surroundings: QueueSurroundings) -> str | None:
    return surroundings.group(pod) if pod.group or pod.workload else None


def _is_of_its_group(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    other: PodFacts = event.new
    if other.namespace != pod.namespace:
        return False
    return (bool(pod.group) and other.group == pod.group) or (bool(pod.workload) and other.workload == pod.workload)


def _is_its_group(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Its PodGroup comes, or wants fewer pods than before."""
    found = event.new.metadata
    if not pod.group or (found.namespace, found.name) != (pod.namespace, pod.group):
        return False
    return event.old is None or least_of(event.new) < least_of(event.old)


def _is_its_workload(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    found = event.new.metadata
    return (found.namespace, found.name) == (pod.namespace, pod.workload.split("/")[0])


PLUGIN = SchedulerPlugin(
    NAME,
    ("preEnqueue", "permit"),
    availability=Availability.GATED,
    pre_enqueue=_waits_for_group,
    interests=(
        Interest(Resource.POD, Action.ADD, _is_of_its_group, "a pod of its group is added"),
        Interest(Resource.POD_GROUP, Action.ADD | Action.UPDATE, _is_its_group, "its PodGroup is added or wants less"),
        Interest(Resource.WORKLOAD, Action.ADD, _is_its_workload, "its Workload is added"),
    ),
)
