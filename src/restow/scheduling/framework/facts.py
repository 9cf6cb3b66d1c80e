"""Facts for queueing hints: a pod and a node as they are at one moment.

A row of columns gets another pod once its pod is gone, and an event outlives the change that it describes. So an event
carries a record of its own; it refers to the parts that pods share, and costs a few words.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from restow.cluster.node_store import ReadNode
from restow.cluster.nodes import Nodes
from restow.cluster.pod_reading import DEFAULT_SCHEDULER
from restow.cluster.pod_values import HostPort, PlacementRules, PodVolume
from restow.cluster.pods import PENDING, Pods
from restow.kube.node_selection import NodeSelection
from restow.kube.objects import Taint, Toleration, TopologySpreadConstraint

T = TypeVar("T")

_UNKNOWN = "?"
_ANY_NODE = PlacementRules(NodeSelection((), None))


@dataclass(slots=True, frozen=True, kw_only=True)
class PodFacts:
    """A pod at one moment."""

    uid: str
    name: str = ""
    namespace: str = "default"
    labels: Mapping[str, str] = field(default_factory=dict)
    scheduler: str = DEFAULT_SCHEDULER
    priority: int = 0
    #: The name of its node; empty where it has none, a question mark where its node is not known.
    node: str = ""
    #: The name of the node that it is nominated for.
    nominated_node: str = ""
    #: Amounts by resource: CPU in milli, everything else in whole units; of a pod on a node, what it holds there.
    requests: Mapping[str, int] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    rules: PlacementRules = _ANY_NODE
    spread: tuple[TopologySpreadConstraint, ...] = ()
    ports: tuple[HostPort, ...] = ()
    volumes: tuple[PodVolume, ...] = ()
    #: Names of scheduling gates.
    gates: tuple[str, ...] = ()
    #: What plugins computed from it.
    _kept: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def kept(self, make: Callable[[PodFacts], T]) -> T:
        """The value of a function of the pod, computed once: many events ask about one pod."""
        if make not in self._kept:
            self._kept[make] = make(self)
        made: T = self._kept[make]
        return made

    @property
    def counts_somewhere(self) -> bool:
        """Whether it takes room on a node, or a node is kept for it."""
        return bool(self.node or self.nominated_node)


@dataclass(slots=True, frozen=True, kw_only=True)
class NodeFacts:
    """A node at one moment."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    #: Amounts by resource: CPU in milli, everything else in whole units.
    allocatable: Mapping[str, int] = field(default_factory=dict)
    #: The status of each condition, by type.
    conditions: Mapping[str, str] = field(default_factory=dict)


def _name(nodes: Nodes, node: int) -> str:
    if node == PENDING:
        return ""
    return nodes.names[node] if node >= 0 else _UNKNOWN


def pod_facts(pods: Pods, nodes: Nodes, pod: int) -> PodFacts:
    """The facts of the pod in a row."""
    tables = pods.tables
    held = int(pods.held[pod])
    requests = tables.resources[pods.resources[pod]].requests if held < 0 else tables.held[held][0]
    return PodFacts(
        uid=pods.uids[pod],
        name=pods.names[pod],
        namespace=tables.namespaces[pods.namespace[pod]],
        labels=tables.labels[pods.labels[pod]],
        scheduler=tables.schedulers[pods.schedulers[pod]],
        priority=int(pods.priority[pod]),
        node=_name(nodes, int(pods.node[pod])),
        nominated_node=_name(nodes, int(pods.nominated[pod])),
        requests=requests,
        tolerations=tables.tolerations[pods.tolerations[pod]],
        rules=tables.rules[pods.rules[pod]],
        spread=tables.spread[pods.spread[pod]],
        ports=tables.ports[pods.ports[pod]],
        volumes=tables.volumes[pods.volumes[pod]],
        gates=tables.gates[pods.gates[pod]],
    )


def node_facts(node: ReadNode) -> NodeFacts:
    """What is read of a node."""
    wire = node.wire
    return NodeFacts(
        name=wire.metadata.name,
        labels=wire.metadata.labels or {},
        taints=wire.spec.taints or (),
        unschedulable=wire.spec.unschedulable,
        allocatable=node.row.allocatable,
        conditions={each.type: each.status for each in wire.status.conditions or ()},
    )
