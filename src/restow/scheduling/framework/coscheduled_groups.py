"""The groups of the plugin Coscheduling: which PodGroup a pod names by a label, and what its pods have so far.

A PodGroup says how many of its pods need nodes before any of them is bound (``minMember``), and what the cluster must have
free for them (``minResources``). Unlike the scheduler's own groups, only a profile with the plugin minds them.
Source: PodGroupManager of kubernetes-sigs/scheduler-plugins v0.33.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from msgspec import Struct

from restow.cluster.interning import IntArray
from restow.cluster.nodes import ALWAYS_COUNTED
from restow.cluster.pod_values import coscheduling_group
from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState
from restow.kube.objects import CoscheduledGroup, WireQuantity
from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT, parse_quantity
from restow.scheduling.framework.scheduling_groups import NamingPods

#: Of the PodGroups.
KIND: Final = "PodGroup.scheduling.x-k8s.io"


class CoscheduledKey(Struct, frozen=True):
    """A PodGroup that pods name by a label."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class CoscheduledGroups:
    """The groups that the pods of one state name."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._pods = state.cluster.pods
        self._naming = NamingPods(self._pods, "labels", coscheduling_group)

    def of(self, pod: int) -> CoscheduledKey | None:
        """The group that a pod names; None where it names none."""
        found = self._naming.of(pod)
        return None if found is None else CoscheduledKey(*found)

    def found(self, key: CoscheduledKey) -> CoscheduledGroup | None:
        """The object; None where there is none."""
        found: CoscheduledGroup | None = self._state.cluster.kind(KIND).get((key.namespace, key.name))
        return found

    def members(self, key: CoscheduledKey) -> IntArray:
        """The pods of a group that are there, also those that are over."""
        members: IntArray = np.flatnonzero(self._naming.with_name((key.namespace, key.name)) & self._state.exists)
        return members

    def placed(self, key: CoscheduledKey) -> list[int]:
        """The pods of a group that have a node."""
        members = self.members(key)
        placed: list[int] = members[self._state.node[members] != PENDING].tolist()
        return placed

    def waiting(self, key: CoscheduledKey) -> list[int]:
        """The pods of a group that need a node."""
        members = self.members(key)
        needy = (self._state.node[members] == PENDING) & ~self._pods.terminal[members]
        waiting: list[int] = members[needy].tolist()
        return waiting

    def lacking(self, key: CoscheduledKey, asked: Mapping[str, WireQuantity]) -> dict[str, WireQuantity]:
        """What the nodes together do not have free of some amounts, without the pods of a group."""
        room = _Room(self._state, self.members(key))
        return {name: wanted for name, wanted in asked.items() if not room.has(name, parse_quantity(wanted).nano)}


@dataclass(frozen=True)
class _Room:
    """What nodes have free, as if some pods were gone."""

    state: ClusterState
    gone: IntArray

    def has(self, resource: str, nano: int) -> bool:
        """Whether the nodes have an amount, each adding what it has to those before it, in order of their names."""
        row = self.state.cluster.nodes.resource(resource)
        free = np.zeros(len(self.state.cluster.nodes), dtype=np.int64) if row is None else self._free[row]
        unit = NANO_PER_MILLI if resource == "cpu" else NANO_PER_UNIT
        return bool(len(free)) and int(np.cumsum(free).max()) * unit >= nano

    @cached_property
    def _free(self) -> IntArray:
        """int64[resource, node]."""
        state, nodes = self.state, self.state.cluster.nodes
        free = nodes.allocatable - state.requested
        pods = nodes.resource("pods")
        assert pods is not None, "it is one of the basic resources"
        free[pods] = nodes.allocatable[pods] - state.running
        for pod in self.gone[(state.node[self.gone] >= 0) & ~state.cluster.pods.terminal[self.gone]].tolist():
            free[:, state.node[pod]] += state.held_by(pod)
            free[pods, state.node[pod]] += 1
        # What a node does not list, it does not owe either.
        listed = nodes.lists_allocatable | np.isin(nodes.resources, ALWAYS_COUNTED)[:, np.newaxis]
        return np.where(listed, free, 0)
