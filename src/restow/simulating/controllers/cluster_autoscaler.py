"""A simple cluster autoscaler: groups of nodes that grow for unschedulable pods and shrink when nodes are idle.

Up: unschedulable pods are placed, one after the other, on the cluster with the nodes that are on their way, and then
with further nodes of the first group that one of them fits on; all of them come after a while.

Down: a node with few requests for long is removed if its pods may be moved (``safe-to-evict``) and fit elsewhere. It is
tainted, its pods are evicted, and it is gone when they are.

There are no expanders, balanced groups, priorities of pods or prices here, and one node goes at a time. Source:
cluster-autoscaler 1.36, with its defaults and its drainability rules.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import numpy as np

from restow.cluster.node_store import read_node
from restow.cluster.state import ClusterState
from restow.kube.duration import MINUTE
from restow.kube.manifests import Node, Pod
from restow.kube.objects import Taint
from restow.kube.timestamps import SECOND
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.schedulers import Schedulers
from restow.simulating.api_server.changes import with_metadata, with_spec
from restow.simulating.api_server.eviction import evict
from restow.simulating.api_server.indexes import key_of
from restow.simulating.api_server.store import ObjectEvent, Store
from restow.simulating.simulated_cluster import as_read
from restow.simulating.virtual_cluster import VirtualCluster

NAME: Final = "cluster-autoscaler"
HOSTNAME: Final = "kubernetes.io/hostname"
SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
#: Names of volumes, with commas between, that may be lost.
SAFE_TO_LOSE: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
_SYSTEM: Final = "kube-system"
#: On nodes that are being removed.
_LEAVING: Final = Taint("ToBeDeletedByClusterAutoscaler", "", "NoSchedule")
#: From one try to evict a pod to the next, and how long all of them may take.
_RETRY: Final = 10 * SECOND
_LONGEST_REMOVAL: Final = 10 * MINUTE


@dataclass(slots=True, frozen=True)
class NodeGroup:
    """Nodes of one kind; a node is one of them if it has all labels of the template."""

    name: str
    least: int
    most: int
    template: Node

    def has(self, node: Node) -> bool:
        """Whether a node is one of the group."""
        return (self.template.metadata.labels or {}).items() <= (node.metadata.labels or {}).items()

    def node(self, name: str) -> Node:
        """A new node of the group."""
        labels = {**(self.template.metadata.labels or {}), HOSTNAME: name}
        return with_metadata(self.template, name=name, labels=labels)


@dataclass(slots=True, frozen=True)
class ClusterAutoscalerSettings:
    """How a cluster autoscaler works; durations are nanoseconds, ``utilization`` is a share of allocatable."""

    groups: tuple[NodeGroup, ...] = ()
    scan_interval: int = 10 * SECOND
    #: From the decision until a node is there.
    provisioning: int = MINUTE
    utilization: float = 0.5
    unneeded_time: int = 10 * MINUTE
    #: For how long after a node was added none is removed.
    delay_after_add: int = 10 * MINUTE


@dataclass(slots=True, frozen=True)
class GroupScaled:
    """A group of which a node comes, or is to go."""

    group: str
    old: int
    node: str


@dataclass(slots=True, frozen=True)
class _Trial:
    """The cluster as it might become."""

    state: ClusterState
    schedulers: Schedulers

    def add(self, node: Node) -> None:
        self.state.create_node(read_node(as_read("Node", node)).row)

    def place(self, pod: int) -> bool:
        """Place a pod on the first node where it fits, if there is one."""
        fitting = self.schedulers.fitting(pod) if self.schedulers.knows(pod) else np.zeros(0, dtype=bool)
        if fitting.any():
            self.state.place(pod, int(np.flatnonzero(fitting)[0]))
        return bool(fitting.any())


@dataclass(slots=True)
class ClusterAutoscaler:
    """The controller in the simulation."""

    simulation: VirtualCluster
    settings: ClusterAutoscalerSettings
    profiles: Sequence[SchedulerProfile] = (DEFAULT_PROFILE,)
    #: ``listeners`` are called before a node comes or goes, ``evicted`` with each evicted pod.
    listeners: list[Callable[[GroupScaled], None]] = field(default_factory=list)
    evicted: list[Callable[[Pod], None]] = field(default_factory=list)
    #: The nodes that are on their way, and the one that is being removed.
    _coming: dict[str, Node] = field(default_factory=dict)
    _leaving: str = ""
    _no_removal_before: int = 0
    #: Since when nodes have not been needed.
    _unneeded: dict[str, int] = field(default_factory=dict)
    _has_changed: bool = True

    def start(self) -> None:
        """Look again and again."""
        for kind in ("Pod", "Node", "PodDisruptionBudget"):
            self.simulation.store.subscribe(kind, self._on_event)
        self.simulation.clock.every(self.settings.scan_interval, self._scan)

    def _on_event(self, _event: ObjectEvent) -> None:
        self._has_changed = True

    def _scan(self) -> None:
        if self._has_changed:
            self._has_changed = False
            self._scale_up()
            self._find_unneeded()
        self._scale_down()

    def _size(self, group: NodeGroup) -> int:
        """How many nodes a group has, including those on their way."""
        nodes = [*self.simulation.store.list("Node"), *self._coming.values()]
        return sum(group.has(each) for each in nodes if each.metadata.name != self._leaving)

    def _scale_up(self) -> None:
        waiting = [each for each in self.simulation.store.list("Pod") if _is_unschedulable(each)]
        if not waiting:
            return
        trial = self._trial()
        for node in self._coming.values():
            trial.add(node)
        there = {each.metadata.name for each in self.simulation.store.list("Node")} | self._coming.keys()
        room = {group.name: group.most - self._size(group) for group in self.settings.groups}
        # The controllers whose pods fit nowhere at all.
        hopeless: set[str] = set()
        for pod in waiting:
            owner = pod.metadata.controller.uid if pod.metadata.controller else pod.metadata.uid
            row = self.simulation.view.row(*key_of(pod))
            if owner in hopeless or trial.place(row):
                continue
            found = self._node_for(trial, row, [each for each in self.settings.groups if room[each.name] > 0], there)
            if found is None:
                hopeless.add(owner)
                continue
            group, node = found
            room[group.name] -= 1
            there.add(node.metadata.name)
            self._order(group, node)

    def _trial(self) -> _Trial:
        state = self.simulation.view.state.fork()
        return _Trial(state, Schedulers(Context.of(state), self.profiles))

    @staticmethod
    def _node_for(
        trial: _Trial, pod: int, groups: Iterable[NodeGroup], there: Container[str]
    ) -> tuple[NodeGroup, Node] | None:
        """A node of the first group on whose nodes a pod fits; the pod is on it then."""
        for group in groups:
            mark = trial.state.checkpoint()
            # The first name that is free: a group that has shrunk gets the nodes again that it had.
            node = group.node(next(name for number in count(1) if (name := f"{group.name}-{number}") not in there))
            trial.add(node)
            if trial.place(pod):
                return group, node
            trial.state.undo(mark)
        return None

    def _order(self, group: NodeGroup, node: Node) -> None:
        for listener in self.listeners:
            listener(GroupScaled(group.name, self._size(group), node.metadata.name))
        self._coming[node.metadata.name] = node
        self._no_removal_before = self.simulation.clock.now + self.settings.delay_after_add
        self.simulation.clock.after(self.settings.provisioning, lambda: self._arrive(node))

    def _arrive(self, node: Node) -> None:
        """Create the node, unless one of its name exists."""
        del self._coming[node.metadata.name]
        if self.simulation.store.get("Node", "", node.metadata.name) is None:
            self.simulation.store.create(node)

    def _find_unneeded(self) -> None:
        """Note which nodes are not needed, and since when."""
        now, found = self.simulation.clock.now, {}
        idle = [each for each in self.simulation.store.list("Node") if self._group_of(each) and self._is_idle(each)]
        trial = self._trial() if idle else None
        for node in idle:
            if trial is not None and self._can_go(trial, node):
                found[node.metadata.name] = self._unneeded.get(node.metadata.name, now)
        self._unneeded = found

    def _group_of(self, node: Node) -> NodeGroup | None:
        return next((each for each in self.settings.groups if each.has(node)), None)

    def _is_idle(self, found: Node) -> bool:
        """Whether little is requested of a node that is not being removed."""
        if found.metadata.name == self._leaving:
            return False
        state = self.simulation.view.state
        node, nodes = state.node_called(found.metadata.name), state.cluster.nodes
        asked = [nodes.resources.index(each) for each in ("cpu", "memory")]
        room = nodes.allocatable[asked, node]
        return bool((state.requested[asked, node] < self.settings.utilization * room).all())

    def _can_go(self, trial: _Trial, node: Node) -> bool:
        """Whether the pods of a node may be moved, and all fit elsewhere together."""
        store = self.simulation.store
        pods = [each for each in store.on_node(node.metadata.name) if each.is_active and not stays_with_node(each)]
        if not all(may_be_moved(each, store) for each in pods):
            return False
        state = trial.state
        mark = state.checkpoint()
        tainted = with_spec(node, taints=(*(node.spec.taints or ()), _LEAVING))
        state.update_node(state.node_called(node.metadata.name), read_node(as_read("Node", tainted)).row)
        rows = [self.simulation.view.row(*key_of(each)) for each in pods]
        for row in rows:
            state.remove(row)
        fits = all(map(trial.place, rows))
        state.undo(mark)
        return fits

    def _scale_down(self) -> None:
        now = self.simulation.clock.now
        if self._leaving or self._coming or now < self._no_removal_before:
            return
        for name, since in self._unneeded.items():
            node: Node | None = self.simulation.store.get("Node", "", name)
            group = None if node is None else self._group_of(node)
            if node is None or group is None or now - since < self.settings.unneeded_time:
                continue
            if self._size(group) > group.least:
                self._remove(group, node)
                return

    def _remove(self, group: NodeGroup, node: Node) -> None:
        """Begin to remove a node."""
        name = node.metadata.name
        for listener in self.listeners:
            listener(GroupScaled(group.name, self._size(group), name))
        self._leaving = name
        del self._unneeded[name]
        taints = (*(node.spec.taints or ()), _LEAVING)
        self.simulation.store.update(with_spec(node, taints=taints))
        self._go_on(name, self.simulation.clock.now + _LONGEST_REMOVAL)

    def _go_on(self, name: str, until: int) -> None:
        """Evict what is still on a node, and delete the node when nothing is; give it up when that takes too long."""
        store = self.simulation.store
        node: Node | None = store.get("Node", "", name)
        left = [each for each in store.on_node(name) if not stays_with_node(each) and not each.is_over]
        if node is None or not left:
            store.delete("Node", "", name)
            self._leaving = ""
        elif self.simulation.clock.now >= until:
            taints = tuple(each for each in node.spec.taints or () if each != _LEAVING)
            store.update(with_spec(node, taints=taints or None))
            self._leaving = ""
        else:
            for pod in left:
                self._evict(pod)
            self.simulation.clock.after(_RETRY, lambda: self._go_on(name, until))

    def _evict(self, pod: Pod) -> None:
        if not pod.metadata.is_terminating and evict(self.simulation.store, *key_of(pod)).is_evicted:
            for listener in self.evicted:
                listener(pod)


def _is_unschedulable(pod: Pod) -> bool:
    """Whether a scheduler has found no node for a pod, not even by preempting others."""
    if pod.node or not pod.is_active or pod.status.nominated_node_name:
        return False
    return any(each.type == "PodScheduled" and each.reason == "Unschedulable" for each in pod.status.conditions or ())


def stays_with_node(pod: Pod) -> bool:
    """Whether a pod goes with its node and is not moved: one of a DaemonSet, or one that a kubelet made of a file."""
    owner = pod.metadata.controller
    return (owner is not None and owner.kind == "DaemonSet") or pod.is_mirror


def may_be_moved(pod: Pod, store: Store) -> bool:
    """Whether a pod that is neither over nor being deleted may be evicted to remove its node.

    Its annotation says so or not; else it needs a controller, no local storage, and in ``kube-system`` a disruption
    budget. Every budget must have room.
    """
    said = pod.metadata.annotation(SAFE_TO_EVICT)
    budgets = store.selecting("PodDisruptionBudget", pod)
    if said == "false" or any(each.status.disruptions_allowed < 1 for each in budgets):
        return False
    if said == "true":
        return True
    is_system = pod.metadata.namespace == _SYSTEM and not budgets
    return pod.metadata.controller is not None and not is_system and not _has_local_storage(pod)


def _has_local_storage(pod: Pod) -> bool:
    lost = (pod.metadata.annotation(SAFE_TO_LOSE) or "").split(",")
    return any(_is_local(each) and each.get("name") not in lost for each in pod.spec.get("volumes") or ())


def _is_local(volume: dict[str, Any]) -> bool:
    """Whether what a volume holds is on the node, and not in its memory."""
    directory = volume.get("emptyDir")
    return volume.get("hostPath") is not None or (directory is not None and directory.get("medium") != "Memory")
