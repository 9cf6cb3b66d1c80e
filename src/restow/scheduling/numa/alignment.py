"""The nodes of one state whose kubelets refuse pods that they cannot align, and which pods they would take.

Where ``topologyManagerPolicy`` is ``single-numa-node`` or ``restricted``, a kubelet fails a pod after it was bound if no
choice of NUMA nodes has what its containers ask for (``TopologyAffinityError``). What NUMA nodes have free says the
NodeResourceTopology of the node, where the input has one. It is believed if it agrees with the pods that are there: as much
is taken as they ask for. What moved since then is counted carefully: who came may be on any NUMA node, and the room of who
left is nowhere for sure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.state import ClusterState
from restow.scheduling.numa.admission import Admission, FreeAmounts, admission, spans_memory
from restow.scheduling.numa.amounts import Amounts, added, within, without
from restow.scheduling.numa.needs import Part, parts_of, total_of
from restow.scheduling.numa.shortage import shortage
from restow.scheduling.numa.topology import NumaTopology, TopologyScope, topology_of

#: What is aligned together, and which resources are.
_Kind = tuple[TopologyScope, frozenset[str]]
_KIND: Final = "NodeResourceTopology"
_NOTHING: Final = "its NodeResourceTopology does not say what its NUMA nodes have"
_STALE: Final = "its NodeResourceTopology and the pods on it do not agree about {}"
_GROUPED: Final = "a pod there has memory of several NUMA nodes, and others get none of these"
_CHANGED: Final = "that depends on where pods are that come to it or leave it"


class Doubts(NamedTuple):
    """What a pod may meet where it lands."""

    #: A clause for people; empty where every kubelet takes it.
    text: str = ""
    #: Whether no kubelet takes it, wherever it lands.
    is_refused: bool = False


class Answer(NamedTuple):
    """What is known of one kubelet's answer to a pod."""

    admission: Admission
    #: Why it is open or refused, a clause for people.
    why: str = ""

    @property
    def text(self) -> str:
        """The answer in words; empty where the pod is taken."""
        verbs = {Admission.OPEN: "may refuse it", Admission.REFUSED: "refuses it"}
        return f"the kubelet {verbs[self.admission]}: {self.why}" if self.admission in verbs else ""


_TAKEN: Final = Answer(Admission.TAKEN)


class Alignment:
    """What the kubelets of one state answer; for one plan."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._pods = state.cluster.pods
        self._nodes = state.cluster.nodes
        topologies = {each.metadata.name: topology_of(each) for each in state.cluster.kind(_KIND).values()}
        #: By node, where one is enforced.
        self._topologies: dict[int, NumaTopology] = {
            node: topology
            for node, name in enumerate(self._nodes.names if topologies else ())
            if (topology := topologies.get(name)) is not None
        }
        #: A few that stand for all: what is aligned, and together with what.
        self._kinds = frozenset(map(_kind, self._topologies.values()))
        #: By ``Pods.resources`` and what is aligned.
        self._parts: dict[tuple[int, _Kind], tuple[Part, ...]] = {}
        #: What is known of nodes as they are, by ``Pods.resources``.
        self._answers: defaultdict[int, dict[int, Answer]] = defaultdict(dict)
        #: How many changes of nodes are known; a plan uses no row again.
        self._read = len(state.changes)
        #: The pods that were on a node when its topology was read.
        self._at_first: dict[int, frozenset[int]] = {}

    def concerns(self, pod: int) -> bool:
        """Whether it matters for a pod: some node would align what it asks for."""
        return any(self._parts_of(pod, each) for each in self._kinds)

    def takes(self, pod: int, nodes: IntArray) -> BoolArray:
        """On which of some nodes the kubelet takes a pod for sure, bool[len(nodes)]."""
        return np.array([self.answer(pod, node).admission is Admission.TAKEN for node in nodes.tolist()], dtype=bool)

    def doubts(self, pod: int, nodes: IntArray) -> Doubts:
        """Why a kubelet may refuse a pod that lands on one of some nodes; the worst one is told."""
        answers = [(node, self.answer(pod, node)) for node in nodes.tolist()]
        doubtful = [(node, each) for node, each in answers if each.admission is not Admission.TAKEN]
        if not doubtful:
            return Doubts()
        refused = [(node, each) for node, each in doubtful if each.admission is Admission.REFUSED]
        node, told = next(iter(refused), doubtful[0])
        more = f" and of {len(doubtful) - 1} more" if len(doubtful) > 1 else ""
        kubelets = f"the kubelet{'s' if more else ''} of {self._nodes.names[node]}{more}"
        verbs = "may refuse" if len(refused) < len(doubtful) else "refuse" if more else "refuses"
        return Doubts(f"{kubelets} {verbs} it: {told.why}", len(refused) == len(answers))

    def answer(self, pod: int, node: int) -> Answer:
        """What is known of the answer of a node's kubelet to a pod that comes there now."""
        if node not in self._topologies:
            return _TAKEN
        if int(self._state.node[pod]) == node:
            # Without it there, the node is another one.
            return self._asked(pod, node)
        self._forget_changed()
        known, resources = self._answers[node], int(self._pods.resources[pod])
        if resources not in known:
            known[resources] = self._asked(pod, node)
        return known[resources]

    def _forget_changed(self) -> None:
        changes = self._state.changes
        for change in changes[self._read :]:
            self._answers.pop(change.node, None)
        self._read = len(changes)

    def _asked(self, pod: int, node: int) -> Answer:
        topology = self._topologies.get(node)
        parts = self._parts_of(pod, _kind(topology)) if topology is not None else ()
        if topology is None or not parts:
            return _TAKEN
        if not topology.numa_nodes:
            return Answer(Admission.OPEN, _NOTHING)
        stale = self._disagreement(node, topology, parts)
        if stale:
            return Answer(Admission.OPEN, _STALE.format(stale))
        if self._is_grouped(node, topology):
            return Answer(Admission.OPEN, _GROUPED)
        free = self._free(pod, node, topology)
        known = admission(topology, free, parts)
        if known is Admission.REFUSED:
            return Answer(known, shortage(topology, free.most, parts))
        return _TAKEN if known is Admission.TAKEN else Answer(known, _CHANGED)

    def _disagreement(self, node: int, topology: NumaTopology, parts: Iterable[Part]) -> str:
        """A resource that is asked for, of which not as much is taken as the pods there ask for; empty if there is none."""
        there = self._totals(self._residents(node), topology)
        asked = frozenset().union(*(each.asks for each in parts))
        return next((name for name in sorted(asked) if topology.taken(name) != there.get(name, 0)), "")

    def _is_grouped(self, node: int, topology: NumaTopology) -> bool:
        """Whether a pod that was or is on a node has memory of several NUMA nodes."""
        pods = self._residents(node) | frozenset(self._state.pods_on(node).tolist())
        return any(spans_memory(topology, self._parts_of(each, _kind(topology))) for each in pods)

    def _free(self, pod: int, node: int, topology: NumaTopology) -> FreeAmounts:
        """What each NUMA node has free for a pod, now that others have come and left."""
        first, now = self._residents(node), frozenset(self._state.pods_on(node).tolist()) - {pod}
        come, left = self._peaks(now - first, topology), self._totals(first - now, topology)
        least = tuple(without(each.available, come) for each in topology.numa_nodes)
        most = tuple(within(added(each.available, left), each.allocatable) for each in topology.numa_nodes)
        return FreeAmounts(least, most)

    def _residents(self, node: int) -> frozenset[int]:
        """The pods that the input has on a node and that hold something there."""
        known = self._at_first.get(node)
        if known is None:
            there = np.flatnonzero((self._pods.node == node) & ~self._pods.terminal)
            known = self._at_first[node] = frozenset(there.tolist())
        return known

    def _totals(self, pods: Iterable[int], topology: NumaTopology) -> Amounts:
        """What pods have together in the end."""
        kind = (TopologyScope.CONTAINER, topology.resources)
        return total_of(part for pod in pods for part in self._parts_of(pod, kind))

    def _peaks(self, pods: Iterable[int], topology: NumaTopology) -> Amounts:
        """What pods may have together while they start."""
        kind = (TopologyScope.POD, topology.resources)
        return total_of(part for pod in pods for part in self._parts_of(pod, kind))

    def _parts_of(self, pod: int, kind: _Kind) -> tuple[Part, ...]:
        key = int(self._pods.resources[pod]), kind
        known = self._parts.get(key)
        if known is None:
            known = self._parts[key] = parts_of(self._pods.tables.resources[key[0]], *kind)
        return known


def _kind(topology: NumaTopology) -> _Kind:
    return topology.scope, topology.resources
