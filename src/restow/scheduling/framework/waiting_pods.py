"""Which pods wait to be scheduled, in which order, and which nodes are kept for some of them.

A scheduler takes pods without a node that name one of its profiles, and skips those with ``schedulingGates``. Higher
priority comes first, then the older pod. Pods of a group wait until there are enough of them (``scheduling_groups``,
``workload_gangs``). kube-scheduler goes by when it first saw a pod, which a snapshot does not
record; the creation time comes closest. A waiting pod with ``nominatedNodeName`` in its status has preempted others
there: it counts on that node for pods that are not more important than it, until it is placed or another pod takes over
its node. Since 1.37 one that is gated counts, too. Source: PrioritySort, SchedulingGates and the scheduling queue's
nominator, Kubernetes 1.33 to 1.37.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from restow.cluster.amounts import capped_sum
from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import NodePart
from restow.cluster.pod_reading import DEFAULT_SCHEDULER
from restow.cluster.pods import PENDING
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.scheduling.framework.minors import GATED_NOMINATIONS, holds
from restow.scheduling.framework.scheduling_groups import SchedulingGroups
from restow.scheduling.framework.workload_gangs import WorkloadGangs

Amounts = npt.NDArray[np.int64]


class Queue(Struct, frozen=True):
    """The waiting pods of one state."""

    #: In the order in which they are scheduled.
    pods: tuple[int, ...]
    #: Pods that may not be scheduled yet, and why.
    gated: Mapping[int, str]


def waiting_pods(
    state: ClusterState, schedulers: Collection[str] = (DEFAULT_SCHEDULER,), ignores_gates: Collection[str] = ()
) -> Queue:
    """The pods that have no node, are not over or on their way out, and name one of some schedulers.

    ``ignores_gates`` are those of the schedulers that run without SchedulingGates.
    """
    pods = state.cluster.pods
    waiting = pods.where(_naming(state, schedulers) & _waits(state))
    ordered = waiting[np.lexsort((pods.created[waiting], -pods.priority[waiting]))].tolist()
    gates = {pod: pods.tables.gates[pods.gates[pod]] for pod in ordered}
    if ignores_gates:
        ignored = _naming(state, ignores_gates)
        gates = {pod: () if ignored[pod] else names for pod, names in gates.items()}
    gated = SchedulingGroups(state).held_back(ordered) | WorkloadGangs(state).held_back(ordered)
    gated |= {pod: why for pod, names in gates.items() if (why := held_by_gates(names)) is not None}
    return Queue(
        pods=tuple(pod for pod in ordered if pod not in gated),
        gated={pod: gated[pod] for pod in ordered if pod in gated},
    )


def held_by_gates(gates: Collection[str]) -> str | None:
    """Why a pod with these ``schedulingGates`` may not be scheduled yet; None where it has none."""
    return f"waiting for scheduling gates: [{' '.join(gates)}]" if gates else None


def waiting_for_others(state: ClusterState, schedulers: Collection[str]) -> list[int]:
    """The pods that wait and name none of some schedulers, in order of their names."""
    waiting: list[int] = state.cluster.pods.where(~_naming(state, schedulers) & _waits(state)).tolist()
    return waiting


def _naming(state: ClusterState, schedulers: Collection[str]) -> BoolArray:
    pods = state.cluster.pods
    return np.array([name in schedulers for name in pods.tables.schedulers], dtype=bool)[pods.schedulers]


def _waits(state: ClusterState) -> BoolArray:
    waits: BoolArray = state.holds_resources() & (state.node == PENDING) & ~state.terminating
    return waits


class Nominations:
    """Which waiting pod is nominated (``nominatedNodeName``) for which node of one state."""

    def __init__(
        self, state: ClusterState, schedulers: frozenset[str], ignores_gates: frozenset[str] = frozenset()
    ) -> None:
        self._state = state
        self._schedulers, self._ignores_gates = schedulers, ignores_gates
        self._pods = state.cluster.pods
        self._node: dict[int, int] = {}
        #: The names of the nodes of those that are nominated for one that is not there any more.
        self._away: dict[int, str] = {}
        #: The pods that each node is kept for.
        self.by_node: dict[int, set[int]] = {}
        #: The node of every nomination that came or went, oldest first.
        self.events: list[int] = []
        state.before_rewriting.append(self._drop_those_gone)
        #: The nodes that positions are of.
        self._names = state.cluster.nodes.names
        state.cluster.nodes.follow(NodePart.POSITION, self._renumber)
        self.read_again()

    def read_again(self) -> None:
        """Keep nodes for those pods only whose status says so."""
        for pod in (*self._node, *self._away):
            self.drop(pod)
        nominated = self._pods.nominated
        if not np.any(nominated >= 0):
            return
        queue = waiting_pods(self._state, self._schedulers, self._ignores_gates)
        gated = queue.gated if holds(GATED_NOMINATIONS, self._state.cluster) else ()
        for pod in (*queue.pods, *gated):
            if nominated[pod] >= 0:
                self._add(pod, int(nominated[pod]))

    def __bool__(self) -> bool:
        return bool(self._node)

    def node(self, pod: int) -> int:
        """The node that a pod is nominated for, or PENDING."""
        return self._node.get(pod, PENDING)

    def ahead_of(self, pod: int, node: int) -> list[int]:
        """The other waiting pods that a node is kept for and that are at least as important as a pod."""
        return [other for other in self.kept_for(node, int(self._pods.priority[pod])) if other != pod]

    def kept_for(self, node: int, priority: int) -> list[int]:
        """The waiting pods of at least this priority that a node is kept for."""
        pods = sorted(self.by_node.get(node, ()), key=self._pods.rank.__getitem__)
        return [pod for pod in pods if self._pods.priority[pod] >= priority and self._waits(pod)]

    def nodes(self) -> list[int]:
        """The nodes that are kept for someone."""
        return sorted(self.by_node)

    def give(self, pod: int, node: int) -> None:
        """Keep a node for a pod that preempts there; less important pods lose their nomination for it."""
        self.drop(pod)
        for other in list(self.by_node.get(node, ())):
            if self._pods.priority[other] < self._pods.priority[pod]:
                self.drop(other)
        self._add(pod, node)

    def all(self) -> dict[int, int]:
        """The node of each pod that one is kept for."""
        return dict(self._node)

    def restore(self, known: Mapping[int, int]) -> None:
        """Keep exactly these nodes for pods."""
        for pod in [each for each in self._node if each not in known]:
            self.drop(pod)
        for pod, node in known.items():
            if self.node(pod) != node:
                self.note(pod, node)

    def note(self, pod: int, node: int) -> None:
        """A pod is nominated for a node, or for none (PENDING); others keep their nominations."""
        self.drop(pod)
        if node >= 0:
            self._add(pod, node)

    def drop(self, pod: int) -> None:
        """Keep no node for a pod any longer."""
        self._away.pop(pod, None)
        node = self._node.pop(pod, PENDING)
        if node >= 0:
            self.by_node[node].discard(pod)
            if not self.by_node[node]:
                del self.by_node[node]
            self.events.append(node)

    def _add(self, pod: int, node: int) -> None:
        self._node[pod] = node
        self.by_node.setdefault(node, set()).add(pod)
        self.events.append(node)

    def _renumber(self) -> None:
        """Nodes have other positions; one that is gone is kept again when it comes back."""
        names = self._away | {pod: self._names[node] for pod, node in self._node.items()}
        self._node, self.by_node, self._away = {}, {}, {}
        nodes = self._state.cluster.nodes
        for pod, name in names.items():
            if name in nodes.index:
                self._add(pod, nodes.index[name])
            else:
                self._away[pod] = name
        self._names = nodes.names

    def _drop_those_gone(self) -> None:
        for pod in [each for each in (*self._node, *self._away) if not self._state.exists[each]]:
            self.drop(pod)

    def _waits(self, pod: int) -> bool:
        return bool(self._state.exists[pod]) and int(self._state.node[pod]) == PENDING


# Where only resources are at stake, a node with the pods that it is kept for is a node with that much less room, and
# that is arithmetic. Verdicts with that in mind are kept by node too: they hold until a pod comes or goes, or a
# nomination does.
class KeptNodes:
    """One state with its nominations, as one log of changes."""

    def __init__(self, state: ClusterState, nominations: Nominations) -> None:
        self._state = state
        self._nominations = nominations
        self._read, self._born = len(state.changes), len(state.births)
        self._heard = len(nominations.events)
        self._nodes: list[int] = []
        state.before_rewriting.append(lambda: len(self.changes))

    @property
    def cluster(self) -> ClusterSnapshot:
        """The cluster that it is about."""
        return self._state.cluster

    @property
    def changes(self) -> list[int]:
        """The node of every change, oldest first; a nominated pod that is placed changes the node that was kept for it."""
        changes, births, events = self._state.changes, self._state.births, self._nominations.events
        if self._read != len(changes):
            for change in changes[self._read :]:
                self._nodes.append(change.node)
                self._note(change.pod)
            self._read = len(changes)
        for pod in births[self._born :]:
            self._note(pod)
        self._born = len(births)
        if self._heard != len(events):
            self._nodes += events[self._heard :]
            self._heard = len(events)
        return self._nodes

    def _note(self, pod: int) -> None:
        """A pod waits no longer, or waits again."""
        nominated = self._nominations.node(pod)
        if nominated >= 0:
            self._nodes.append(nominated)

    def changed_nodes(self, since: int) -> IntArray:
        """The nodes of all changes but the first ``since``, in order."""
        return np.array(sorted(set(self._nodes[since:])), dtype=np.int64)

    def with_nominated(self, priority: int, nodes: IntArray) -> tuple[IntArray, Amounts]:
        """How many pods run on some nodes, and what they request, with the pods that one of a priority must let in."""
        running, requested = self._state.running[nodes], self._state.requested[:, nodes]
        kept = self._nominations.by_node
        if kept:
            for position, node in enumerate(nodes.tolist()):
                for other in self._nominations.kept_for(node, priority) if node in kept else ():
                    running[position] += 1
                    requested[:, position] = capped_sum(requested[:, position], self._state.held_by(other))
        return running, requested
