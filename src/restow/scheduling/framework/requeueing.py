"""Which cluster events can help a pod that a plugin rejected, as the plugin's declaration says it.

An event names the kind of object and the change, as precisely as the objects show: not that a node changed, but that its
taints did. Because a row of columns gets another pod once its pod is gone, an event carries records of its own
(``PodFacts``, ``NodeFacts``); these refer to the parts that pods share, and cost a few words. An ``Interest`` is an event
with an optional hint, which looks at the objects and says whether this one can help this pod. A hint may err only towards
yes: a pod that is not woken waits for minutes. Source: ClusterEvent, EnqueueExtensions and QueueingHintFn, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping
from dataclasses import dataclass, field
from enum import IntFlag, StrEnum
from typing import Any, Final, TypeVar

from msgspec import Struct

from restow.cluster.node_store import ReadNode
from restow.cluster.nodes import Nodes
from restow.cluster.pod_reading import DEFAULT_SCHEDULER
from restow.cluster.pod_values import HostPort, PlacementRules, PodVolume, scheduling_group, workload_reference
from restow.cluster.pods import PENDING, Pods
from restow.kube.node_selection import NodeSelection
from restow.kube.objects import Taint, Toleration, TopologySpreadConstraint

T = TypeVar("T")

_UNKNOWN = "?"
_ANY_NODE = PlacementRules(NodeSelection((), None))


class Resource(StrEnum):
    """A kind of object."""

    POD = "Pod"
    #: A pod that has a node. No plugin registers for it: one that registers for pods gets it and the next one.
    ASSIGNED_POD = "AssignedPod"
    #: A pod that has none.
    UNSCHEDULABLE_POD = "UnschedulablePod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    POD_GROUP = "scheduling.k8s.io/PodGroup"
    WORKLOAD = "scheduling.k8s.io/Workload"
    COSCHEDULED_GROUP = "podgroups.v1alpha1.scheduling.x-k8s.io"
    NODE_RESOURCE_TOPOLOGY = "noderesourcetopologies.v1alpha2.topology.node.k8s.io"
    #: Any kind.
    ANY = "*"


class Action(IntFlag):
    """What was done to an object. Source: ActionType, Kubernetes 1.36."""

    ADD = 1
    DELETE = 2
    UPDATE_NODE_ALLOCATABLE = 4
    UPDATE_NODE_LABEL = 8
    #: Taints changed, or the node was uncordoned.
    UPDATE_NODE_TAINT = 16
    UPDATE_NODE_CONDITION = 32
    UPDATE_POD_LABEL = 64
    #: A pod requests less than before.
    UPDATE_POD_SCALE_DOWN = 128
    UPDATE_POD_TOLERATION = 256
    #: The last scheduling gate was removed.
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 512
    #: Something changed, and nothing more is known of it or matters.
    UPDATE = 4 | 8 | 16 | 32 | 64 | 128 | 256 | 512
    ALL = 1023

    @property
    def label(self) -> str:
        """As in ``UpdateNodeTaint``."""
        return "".join(word.capitalize() for word in (self.name or "").split("_"))


@dataclass(slots=True, frozen=True)
class ClusterEvent:
    """One thing that happened.

    ``old`` and ``new`` are a ``PodFacts`` or a ``NodeFacts`` where it is about a pod or a node, and the object otherwise;
    ``old`` is None for what came, ``new`` for what is gone.
    """

    resource: Resource
    action: Action
    old: Any = None
    new: Any = None
    #: What metrics and logs call it, where that is not kind and action.
    special: str = ""
    #: It concerns only pods of at most this priority.
    at_most_priority: int | None = None

    @property
    def label(self) -> str:
        """As in ``AssignedPodDelete``."""
        return self.special or f"{self.resource.value}{self.action.label}"


_PODS: Final = frozenset({Resource.ASSIGNED_POD, Resource.UNSCHEDULABLE_POD})

#: Why pods move in the queue when nothing has happened in the cluster; labels of metrics.
SCHEDULE_ATTEMPT_FAILURE: Final = "ScheduleAttemptFailure"
BACKOFF_COMPLETE: Final = "BackoffComplete"
POP_FROM_BACKOFF: Final = "PopFromBackoffQ"
FORCE_ACTIVATE: Final = "ForceActivate"
UNSCHEDULABLE_TIMEOUT: Final = "UnschedulableTimeout"


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
    #: The name of its PodGroup; empty where it has none.
    group: str = ""
    #: Its Workload, the group in it and maybe the replica of that, with slashes between; empty where it names none.
    workload: str = ""
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
        group=scheduling_group(tables.group_marks[pods.group_marks[pod]]),
        workload=workload_reference(tables.group_marks[pods.group_marks[pod]]),
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


#: Whether an event can help a pod that the plugin rejected; it gets the plugin's arguments last. An error counts as yes.
QueueingHint = Callable[[PodFacts, ClusterEvent, Any], bool]


def _no_group(_pod: PodFacts) -> str | None:
    return None


class QueueSurroundings(Struct, frozen=True):
    """What keeps pods from being tried and is no matter of the pod alone."""

    #: The uids of the pods whose victims are still being deleted.
    preempting: Container[str] = ()
    #: Why the group of a pod may not be tried yet; None where it may, or where the pod has none.
    group: Callable[[PodFacts], str | None] = _no_group


#: Nothing does.
ALONE: Final = QueueSurroundings()
#: Why a pod may not be tried at all now; None where it may.
PreEnqueue = Callable[[PodFacts, QueueSurroundings], str | None]


@dataclass(slots=True, frozen=True)
class Interest:
    """Events that can help.

    Of pods that differ in name and uid alone, the hint is asked about one for all; a pod that the event itself is about is
    asked about on its own.
    """

    resource: Resource
    actions: Action
    #: None where every such event can.
    hint: QueueingHint | None = None
    #: What the pod waits for, as in "a node is added".
    words: str = ""

    def covers(self, event: ClusterEvent) -> bool:
        """Whether an event is one of these. One that is only known as an update is none of the precise ones."""
        if self.resource is Resource.ANY:
            return True
        is_kind = event.resource is self.resource or (self.resource is Resource.POD and event.resource in _PODS)
        return is_kind and event.action in self.actions


#: What a plugin waits for that does not say: anything.
ANYTHING: Final = (Interest(Resource.ANY, Action.ALL, words="anything changes in the cluster"),)
_ANY_TAINT: Final = Interest(Resource.NODE, Action.UPDATE_NODE_TAINT)


def registered(interests: tuple[Interest, ...] | None) -> tuple[Interest, ...]:
    """The interests of a plugin as they count.

    A plugin that waits for new nodes and not for taints is woken by any change of taints too. Upstream once lost the
    events of new nodes that were tainted, and still makes up for it.
    """
    if interests is None:
        return ANYTHING
    of_nodes = [each.actions for each in interests if each.resource is Resource.NODE]
    waits_for_nodes = any(Action.ADD in actions for actions in of_nodes)
    if waits_for_nodes and not any(Action.UPDATE_NODE_TAINT in actions for actions in of_nodes):
        return (*interests, _ANY_TAINT)
    return interests


def about_itself(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the pod itself has changed."""
    changed: str = event.new.uid
    return changed == pod.uid
