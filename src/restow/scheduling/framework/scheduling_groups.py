"""Pods that the scheduler decides about together: which PodGroup a pod names, and how many of its pods there are.

A pod names its PodGroup in ``spec.schedulingGroup``. An API server keeps that field only with the feature gate
GenericWorkload, so a pod that has one shows that the scheduler decides about groups. A *gang* (``minCount``) gets nodes
for so many of its pods, or for none; any other group for as many as fit. A pod is not tried before its PodGroup is there
and the gang has enough pods. In 1.35 pods name a Workload instead (``workload_gangs``).
Source: the plugin GangScheduling and the states of pod groups, Kubernetes 1.36 and 1.37.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pod_values import scheduling_group
from restow.cluster.pods import PENDING, Pods
from restow.cluster.state import ClusterState
from restow.kube.objects import PodGroup
from restow.scheduling.framework.minors import GROUPS, GROUPS_IN_DOMAINS, GROUPS_PREEMPT, holds

#: Namespace and name of a PodGroup.
GroupKey = tuple[str, str]


class NamingPods:
    """Which pods name something of their namespace, in a part that many share: an identifier column and its table."""

    def __init__(self, pods: Pods, column: str, name_of: Callable[[Any], str]) -> None:
        self._pods, self._column, self._name_of = pods, column, name_of
        #: The name in each part that has one, and the parts with each name; for so many parts.
        self._names: dict[int, str] = {}
        self._parts: dict[str, list[int]] = {}
        self._read = 0

    def __bool__(self) -> bool:
        """Whether some pod may name anything."""
        self._catch_up()
        return bool(self._names)

    def of(self, pod: int) -> tuple[str, str] | None:
        """The namespace of a pod and what it names there; None where it names nothing."""
        self._catch_up()
        name = self._names.get(int(getattr(self._pods, self._column)[pod])) if self._names else None
        return None if name is None else (self._pods.tables.namespaces[self._pods.namespace[pod]], name)

    def with_name(self, key: tuple[str, str]) -> BoolArray:
        """The pods that name this of this namespace, bool[pod]."""
        self._catch_up()
        pods, (namespace, name) = self._pods, key
        is_there = np.array([each == namespace for each in pods.tables.namespaces], dtype=bool)
        named: BoolArray = np.isin(getattr(pods, self._column), self._parts.get(name, ()))
        named &= is_there[pods.namespace]
        return named

    def _catch_up(self) -> None:
        """Read the parts that are new."""
        table = getattr(self._pods.tables, self._column)
        if self._read == len(table):
            return
        for part in range(self._read, len(table)):
            if name := self._name_of(table[part]):
                self._names[part] = name
                self._parts.setdefault(name, []).append(part)
        self._read = len(table)


class SchedulingGroups:
    """The groups that the pods of one state name."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._pods = state.cluster.pods
        self._naming = NamingPods(self._pods, "group_marks", scheduling_group)
        #: Whether some PodGroup has to share a domain, and the version of PodGroups of which that holds.
        self._some_share, self._read = False, -1

    def of(self, pod: int) -> GroupKey | None:
        """The group that a pod names; None where it names none."""
        return self._naming.of(pod)

    def pod_group(self, key: GroupKey) -> PodGroup | None:
        """The object; None where there is none."""
        found: PodGroup | None = self._state.cluster.kind("PodGroup").get(key)
        return found

    def members(self, key: GroupKey) -> IntArray:
        """The pods of a group that are there and not over, with a node or without."""
        members: IntArray = np.flatnonzero(self._named(key) & self._state.exists)
        return members

    def _named(self, key: GroupKey) -> BoolArray:
        """The pods that name a group and are not over, bool[pod]."""
        named: BoolArray = self._naming.with_name(key) & ~self._pods.terminal
        return named

    def placed(self, key: GroupKey) -> list[int]:
        """The pods of a group that have a node."""
        members = self.members(key)
        placed: list[int] = members[self._state.node[members] != PENDING].tolist()
        return placed

    def why_not_tried(self, key: GroupKey) -> str | None:
        """Why no pod of a group may be tried yet, in the scheduler's words; None where they may, and where it is unknown."""
        if not holds(GROUPS, self._state.cluster):
            return None
        found = self.pod_group(key)
        if found is None:
            return f'waiting for pods\'s pod group "{key[1]}" to appear in scheduling queue'
        if len(self.members(key)) < least_of(found):
            return "waiting for minCount pods from a gang to appear in scheduling queue"
        return self._gated_member(key) if holds(GROUPS_PREEMPT, self._state.cluster) else None

    def _gated_member(self, key: GroupKey) -> str | None:
        """Since 1.37 a pod with scheduling gates holds back its whole group."""
        members, gates = self.members(key), self._pods.tables.gates
        waiting = members[self._state.node[members] == PENDING].tolist()
        gated = next((each for each in waiting if gates[self._pods.gates[each]]), None)
        return (
            None if gated is None else f"waiting for {self._pods.names[gated]} of its group, which has scheduling gates"
        )

    def why_never_tried(self, pod: int) -> str | None:
        """Why the next pod of a pod's group would wait for good, in the scheduler's words; None where it would be tried.

        A gang is taken to have as many pods as were read of it, however many of them are gone in the meantime.
        """
        key = self.of(pod)
        if key is None:
            return None
        found = self.pod_group(key)
        if found is None or least_of(found) > np.count_nonzero(self._named(key) & self._pods.read()):
            return self.why_not_tried(key)
        return None

    def unknown(self, key: GroupKey) -> str:
        """Why it is not known where the pods of a group go, a clause for people; empty where it is."""
        found = self.pod_group(key) or PodGroup()
        if not holds(GROUPS, self._state.cluster):
            return "restow schedules groups as kube-scheduler 1.36 and later do"
        if topology_of(found) and not holds(GROUPS_IN_DOMAINS, self._state.cluster):
            return "its group has to share a domain, which restow models as of Kubernetes 1.37"
        if found.spec.parent_composite_pod_group_name:
            return "its group is part of a group of groups, which restow does not model"
        return ""

    def some_share_a_domain(self) -> bool:
        """Whether some group has to: that shows that the scheduler decides about domains, of all groups."""
        version = self._state.version("PodGroup")
        if self._read != version:
            groups = self._state.cluster.kind("PodGroup").values()
            self._some_share, self._read = any(map(topology_of, groups)), version
        return self._some_share

    def unknown_alone(self, key: GroupKey) -> str:
        """The same of a pod that is decided without its group."""
        shares = topology_of(self.pod_group(key) or PodGroup())
        return self.unknown(key) or (
            "its group has to share a domain, which restow does not model for single pods" if shares else ""
        )

    def held_back(self, pods: Iterable[int]) -> dict[int, str]:
        """Those of some pods that may not be tried yet because of their group, and why."""
        if not self._naming:
            return {}
        groups = {pod: key for pod in pods if (key := self.of(pod)) is not None}
        reasons = {key: self.why_not_tried(key) for key in set(groups.values())}
        return {pod: why for pod, key in groups.items() if (why := reasons[key]) is not None}


def least_of(group: PodGroup) -> int:
    """How many pods of a group must have nodes before any is bound: ``minCount`` of a gang, otherwise one."""
    gang = group.spec.scheduling_policy.gang
    return 1 if gang is None else gang.min_count


def topology_of(group: PodGroup) -> str:
    """The label whose value the nodes of all pods of a group share; empty where they need not."""
    constraints = group.spec.scheduling_constraints
    return constraints.topology[0].key if constraints is not None and constraints.topology else ""
