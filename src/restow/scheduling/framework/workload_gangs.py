"""The groups of Kubernetes 1.35: which group of a Workload a pod names, and what its pods have so far.

A pod names a Workload, one of its groups and maybe a replica of that group in ``spec.workloadRef``; pods with the same three
words are together. An API server keeps the field only with the feature gate GenericWorkload, so a pod that has one shows
that the scheduler minds it. A pod may not be tried before the Workload is there and has the group, nor before a *gang*
has enough pods, those with nodes included. Of other groups the scheduler wants nothing more.

What the plugin does at Permit, to let pods of a gang wait on their nodes, is ``scheduling.loop.permit_waiting``.
Source: GangScheduling and the workload manager, Kubernetes 1.35.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from msgspec import Struct

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pod_values import GroupMarks, workload_reference
from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState
from restow.kube.objects import GangWorkload, WorkloadGroup
from restow.scheduling.framework.minors import minds_workloads
from restow.scheduling.framework.scheduling_groups import NamingPods

#: Of the Workloads.
KIND: Final = "Workload.scheduling.k8s.io"


class GangKey(Struct, frozen=True):
    """The namespace of some pods, and what they name in it: Workload, group and maybe replica, with slashes between."""

    namespace: str
    reference: str

    @property
    def workload(self) -> str:
        """The name of the Workload."""
        return self.reference.split("/")[0]

    @property
    def group(self) -> str:
        """The name of the group in it."""
        return self.reference.split("/")[1] if "/" in self.reference else ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.reference}"


class WorkloadGangs:
    """The groups of Workloads that the pods of one state name; none where the scheduler is not that of 1.35."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._pods = state.cluster.pods
        named = workload_reference if minds_workloads(state.cluster) else _nothing
        self._naming = NamingPods(self._pods, "group_marks", named)

    def of(self, pod: int) -> GangKey | None:
        """The group that a pod names; None where it names none."""
        found = self._naming.of(pod)
        return None if found is None else GangKey(*found)

    def members(self, key: GangKey) -> IntArray:
        """The pods of a group that are there and not over, with a node or without."""
        members: IntArray = np.flatnonzero(self._named(key) & self._state.exists)
        return members

    def _named(self, key: GangKey) -> BoolArray:
        """The pods that name a group and are not over, bool[pod]."""
        named: BoolArray = self._naming.with_name((key.namespace, key.reference)) & ~self._pods.terminal
        return named

    def placed(self, key: GangKey) -> list[int]:
        """The pods of a group that have a node, or wait on one."""
        members = self.members(key)
        placed: list[int] = members[self._state.node[members] != PENDING].tolist()
        return placed

    def least(self, key: GangKey) -> int:
        """How many pods of a group need nodes before any is bound: one where it is no gang."""
        found = self._group(key)
        return 1 if found is None or found.policy.gang is None else found.policy.gang.min_count

    def why_not_permitted(self, key: GangKey) -> str:
        """Why no pod of a group may be bound, an error of the scheduler; empty where enough of them may."""
        if self._workload(key) is None:
            missing = f'workload.scheduling.k8s.io "{key.workload}" not found'
            return f"failed to get workload {key.namespace}/{key.workload}: {missing}"
        return self._lacks_group(key)

    def why_not_tried(self, key: GangKey) -> str | None:
        """Why no pod of a group may be tried yet, in the scheduler's words; None where they may."""
        if self._workload(key) is None:
            return f'waiting for pods\'s workload "{key.workload}" to appear in scheduling queue'
        if lacks := self._lacks_group(key):
            return lacks
        is_complete = len(self.members(key)) >= self.least(key)
        return None if is_complete else "waiting for minCount pods from a gang to appear in scheduling queue"

    def why_never_bound(self, key: GangKey) -> str | None:
        """Why the next pod of a group would never be bound; None where it would be.

        A gang is taken to have as many pods with nodes as were read of it, however many of them are gone in the meantime:
        each that comes instead waits on its node until there are enough.
        """
        if self._workload(key) is None or self._lacks_group(key):
            return self.why_not_tried(key)
        there = np.count_nonzero(self._named(key) & self._pods.read() & (self._pods.node != PENDING))
        least = self.least(key)
        return None if there >= least else f"{title(key)} needs {least} pods with nodes and has {there}"

    def held_back(self, pods: Iterable[int]) -> dict[int, str]:
        """Those of some pods that may not be tried yet because of their group, and why."""
        if not self._naming:
            return {}
        groups = {pod: key for pod in pods if (key := self.of(pod)) is not None}
        reasons = {key: self.why_not_tried(key) for key in set(groups.values())}
        return {pod: why for pod, key in groups.items() if (why := reasons[key]) is not None}

    def _workload(self, key: GangKey) -> GangWorkload | None:
        found: GangWorkload | None = self._state.cluster.kind(KIND).get((key.namespace, key.workload))
        return found

    def _group(self, key: GangKey) -> WorkloadGroup | None:
        found = self._workload(key)
        return None if found is None else next((each for each in found.spec.pod_groups if each.name == key.group), None)

    def _lacks_group(self, key: GangKey) -> str:
        lacks = f'pod group "{key.group}" doesn\'t exist for a workload "{key.workload}"'
        return lacks if self._group(key) is None else ""


def title(key: GangKey) -> str:
    """A group in a sentence."""
    return f"the group {key}"


def _nothing(_marks: GroupMarks) -> str:
    return ""
