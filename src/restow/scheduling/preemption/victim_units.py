"""Which pods are victims together, and how important they are.

Up to 1.36 each pod is a victim for itself. Since 1.37 a pod of a group has the priority of its PodGroup, and if that says
``disruptionMode: {all: {}}``, all pods of the group that have a node are one victim: they go or stay together, on whatever
nodes they are. The more important victims are those of higher priority, those of groups, larger ones, older ones.
Source: getCrossNodesVictims, GetPodPriority and MoreImportantVictim, Kubernetes 1.37; MoreImportantPod, 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import IntArray
from restow.cluster.journal import NodeChange
from restow.cluster.pod_columns import PodGroups
from restow.cluster.pod_values import NO_TIME, scheduling_group
from restow.cluster.pods import Pods
from restow.kube.objects import PodGroup
from restow.scheduling.framework.context import Context, Follower
from restow.scheduling.framework.minors import VICTIMS_TOGETHER, holds
from restow.scheduling.framework.scheduling_groups import NamingPods

#: Pods that go together, or not at all.
Unit = tuple[int, ...]
#: Of pods that go together, all of them by name, the pod itself among them.
Units = Mapping[int, IntArray]

_GROUP: Final = "PodGroup"
_NO_NODES: Final[IntArray] = np.zeros(0, dtype=np.int64)
#: A pod that has not started counts as one that starts now: later than all others.
NOW: Final = np.iinfo(np.int64).max


class _Rule(NamedTuple):
    """What holds for the pods of one group as victims; nothing does for pods of none."""

    names_group: bool = False
    #: That of the PodGroup; None where it is not there, and each pod has its own.
    priority: int | None = None
    together: bool = False


class VictimUnits:
    """The victims of one state."""

    def __init__(self, context: Context) -> None:
        self._state = context.state
        self._pods = context.state.cluster.pods
        self._counts = holds(VICTIMS_TOGETHER, context.state.cluster)
        self._naming = NamingPods(self._pods, "group_marks", scheduling_group)
        #: The version of the PodGroups, and how many groups were read.
        self._read = -1, 0
        self._rules: list[_Rule] = []
        self._names_group, self._has_priority, self._together = (np.zeros(0, dtype=bool) for _ in range(3))
        self._priority: IntArray = np.zeros(0, dtype=np.int64)
        #: The groups of which pods came or went since ``catch_up``, and whether any rule is another one.
        self._moved: set[int] = set()
        self._differ = False

    def __bool__(self) -> bool:
        """Whether some pod is, or may be, a victim as one of a group."""
        return self._counts and bool(self._naming)

    @cached_property
    def _groups(self) -> PodGroups:
        """The pods by what they name, and their namespace; made once pods name groups, as what follows it is."""
        return PodGroups(self._pods, "group_marks", "namespace")

    @cached_property
    def _follower(self) -> Follower:
        return Follower(self._state, self._note)

    def _note(self, change: NodeChange) -> None:
        self._moved.add(self._groups.values[change.pod])

    def catch_up(self) -> IntArray:
        """The nodes where the victims may be others than at the last call, although no pod came there or left."""
        if not self:
            return _NO_NODES
        self._follower.catch_up()
        self._read_groups()
        moved, self._moved = self._moved, set()
        differ, self._differ = self._differ, False
        if differ:
            return np.arange(len(self._state.cluster.nodes))
        together = [self._members(group) for group in moved if self._together[group]]
        return np.unique(self._state.node[np.concatenate(together)]) if together else _NO_NODES

    def reach(self, nodes: IntArray) -> IntArray:
        """Some nodes, and those where pods are that go together with pods there."""
        if not self or len(nodes) == 0:
            return nodes
        units = self.of(np.concatenate([self._state.pods_on(node) for node in nodes.tolist()]))
        return np.unique(np.concatenate([nodes, *(self._state.node[pods] for pods in units.values())]))

    def priorities(self, pods: IntArray) -> IntArray:
        """The priorities of some pods as victims."""
        own: IntArray = self._pods.priority[pods].astype(np.int64)
        if not self:
            return own
        groups = self._groups_of(pods)
        return np.where(self._has_priority[groups], self._priority[groups], own)

    def of(self, pods: IntArray) -> Units:
        """Those of some pods that go together with all of their group. All of the pods have a node."""
        if not self:
            return {}
        groups = self._groups_of(pods)
        together = self._together[groups]
        pairs = list(zip(pods[together].tolist(), groups[together].tolist(), strict=True))
        members = {group: self._members(group) for group in {group for _, group in pairs}}
        return {pod: members[group] for pod, group in pairs}

    def by_importance(self, victims: IntArray, group: IntArray, units: Units) -> IntArray:
        """The order of some victims, each named by one of its pods, by these groups; equals in order of their names.

        In each group the most important come first.
        """
        first, start, size = victims.copy(), starts(self._pods, victims), np.ones(len(victims), dtype=np.int64)
        for at, pod in enumerate(victims.tolist()) if units else ():
            if (unit := units.get(pod)) is not None:
                first[at], start[at], size[at] = unit[0], starts(self._pods, unit).min(), len(unit)
        keys: list[npt.NDArray[Any]] = [self._pods.rank[first], start]
        if self:
            keys += [-size, ~self._names_group[self._groups_of(victims)]]
        return np.lexsort((*keys, -self.priorities(victims), group))

    def _groups_of(self, pods: IntArray) -> IntArray:
        self._read_groups()
        values = self._groups.values
        return np.array([values[pod] for pod in pods.tolist()], dtype=np.int64)

    def _members(self, group: int) -> IntArray:
        """The pods of a group that have a node, by name."""
        state, pods = self._state, self._groups.members(group)
        placed = pods[state.exists[pods] & state.holds[pods] & (state.node[pods] >= 0)]
        return placed[np.argsort(self._pods.rank[placed])]

    def _read_groups(self) -> None:
        """Go by the PodGroups as they are now."""
        now = self._state.version(_GROUP), len(self._groups)
        if now == self._read:
            return
        self._read = now
        rules = [self._rule(*row) for row in self._groups.table]
        self._differ |= rules[: len(self._rules)] != self._rules or not self._rules
        self._rules = rules
        self._names_group = np.array([each.names_group for each in rules], dtype=bool)
        self._has_priority = np.array([each.priority is not None for each in rules], dtype=bool)
        self._priority = np.array([each.priority or 0 for each in rules], dtype=np.int64)
        self._together = np.array([each.together for each in rules], dtype=bool)

    def _rule(self, marks: int, namespace: int) -> _Rule:
        tables = self._pods.tables
        name = scheduling_group(tables.group_marks[marks])
        if not name:
            return _Rule()
        found: PodGroup | None = self._state.cluster.kind(_GROUP).get((tables.namespaces[namespace], name))
        return _Rule(True) if found is None else _Rule(True, found.spec.priority, found.spec.goes_together)


def one_each(victims: IntArray, group: IntArray, units: Units) -> tuple[IntArray, IntArray]:
    """The first pod of each unit in each group, and its group; pods that go alone all stay."""
    if not units:
        return victims, group
    first = np.array([units[pod][0] if pod in units else pod for pod in victims.tolist()], dtype=np.int64)
    kept = np.sort(np.unique(np.stack((group, first)), axis=1, return_index=True)[1])
    return victims[kept], group[kept]


def separated(victims: IntArray, units: Units) -> list[Unit]:
    """All pods of each victim."""
    return [tuple(units[pod].tolist()) if pod in units else (pod,) for pod in victims.tolist()]


def expanded(victims: IntArray, units: Units) -> tuple[IntArray, IntArray]:
    """All pods of some victims, and for each pod the position of the victim that it belongs to."""
    if not units:
        return victims, np.arange(len(victims))
    each = separated(victims, units)
    pods = np.array([pod for some in each for pod in some], dtype=np.int64)
    return pods, np.repeat(np.arange(len(each)), list(map(len, each)))


def starts(pods: Pods, some: IntArray) -> IntArray:
    """When some pods started, nanoseconds since the epoch."""
    started = pods.started[some]
    return np.where(started == NO_TIME, NOW, started)
