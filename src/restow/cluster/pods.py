"""Pods as columns: one array a property, one row a pod.

A column ends in either a number (priority, times) or an identifier into a table of distinct values (tolerations,
owners, states...). The number of a row is the identity of its pod and says nothing of its order: that is ``rank``, by
namespace and name, and a replacement right after the pod that it replaces. Where a pod is *now* is the business of
``cluster.state``, which alone adds rows and changes them.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from restow.cluster.growing import GrowingColumns
from restow.cluster.interning import BoolArray, IdArray, IntArray, hashable
from restow.kube.node_selection import NodeSelection, WeightedTerm
from restow.kube.objects import (
    AWSElasticBlockStore,
    Condition,
    ContainerStatus,
    GCEPersistentDisk,
    ISCSIVolume,
    OwnerReference,
    PodAffinity,
    RBDVolume,
    Toleration,
    TopologySpreadConstraint,
)

#: ``node`` of a pod without ``spec.nodeName``, and of a pod on a node that the input does not hold.
PENDING, UNKNOWN_NODE = -1, -2

#: A time that is absent (Go's zero time lies further back than int64 nanoseconds reach).
NO_TIME = np.iinfo(np.int64).min


class Phase(enum.IntEnum):
    """``status.phase``; an absent phase is Pending-like for every rule that restow has."""

    UNKNOWN = 0
    PENDING = 1
    RUNNING = 2
    SUCCEEDED = 3
    FAILED = 4


_OVER = frozenset((int(Phase.SUCCEEDED), int(Phase.FAILED)))
PHASES = {"Pending": Phase.PENDING, "Running": Phase.RUNNING, "Succeeded": Phase.SUCCEEDED, "Failed": Phase.FAILED}


class Flag(enum.IntFlag):
    """What annotations and metadata say about a pod, as bits of one column."""

    EVICT = 1
    PREFER_NO_EVICTION = 2
    MIRROR = 4
    STATIC = 8
    TERMINATING = 16
    LOCAL_STORAGE = 32
    CLAIMS = 64
    RESOURCE_CLAIMS = 128
    NEVER_PREEMPTS = 256
    REQUEST_EVICT_ONLY = 512
    #: A pod of its index of a Job has failed before.
    INDEX_FAILED = 1024
    #: It waits behind the scheduling gate that steering holds new pods back with.
    STEERING_GATE = 2048


@dataclass(slots=True, frozen=True)
class Rules:
    """Where a pod may go: node selector and affinity of one distinct pair of texts."""

    #: Required node affinity AND node selector.
    selection: NodeSelection
    #: Whether ``spec.nodeSelector`` names any label.
    has_node_selector: bool = False
    #: Whether ``affinity.nodeAffinity`` is present at all, even if only preferred.
    has_node_affinity: bool = False
    #: Whether required node affinity is present, even without terms.
    has_required: bool = False
    preferred: tuple[WeightedTerm, ...] = ()
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class HostPort(NamedTuple):
    """A port of the node that a pod takes; an empty address is 0.0.0.0."""

    ip: str
    protocol: str
    port: int


#: A disk that a pod names itself, without a claim.
Disk = GCEPersistentDisk | AWSElasticBlockStore | ISCSIVolume | RBDVolume


class PodVolume(NamedTuple):
    """A volume that matters to scheduling: from a claim, or a disk."""

    #: The name of the claim; a generic ephemeral volume has one of its own, ``<pod>-<volume>``.
    claim: str = ""
    ephemeral: bool = False
    disk: Disk | None = None

    @property
    def is_named_claim(self) -> bool:
        """Whether the pod names a claim (``persistentVolumeClaim``)."""
        return self.disk is None and not self.ephemeral


@dataclass(slots=True, frozen=True)
class ContainerResources:
    """Requests of one distinct set of containers."""

    #: Effective request by resource name: cpu in milli, everything else in whole units, rounded up.
    requests: Mapping[str, int]
    #: Resource names that a regular or init container requests explicitly, even as 0.
    named: frozenset[str]
    #: QoS class that the containers imply when the status does not tell.
    qos: int
    #: What scores count for a pod on a node: containers that request no CPU or memory take 100m and 200Mi.
    nonzero: Mapping[str, int]
    #: The same for a pod that is being scheduled; requests of the pod itself do not count there.
    scored: Mapping[str, int]


@dataclass(slots=True, frozen=True)
class PodStates:
    """Phase, reason and container states of one distinct status."""

    phase: str
    reason: str
    containers: tuple[ContainerStatus, ...]
    init_containers: tuple[ContainerStatus, ...]
    ephemeral_containers: tuple[ContainerStatus, ...]


@dataclass(slots=True, frozen=True)
class PodTables:
    """The distinct values that the identifier columns of ``Pods`` point into."""

    namespaces: list[str]
    labels: list[Mapping[str, str]]
    owners: list[tuple[OwnerReference, ...]]
    resources: list[ContainerResources]
    #: What pods hold that are being resized: requests and ``nonzero``, as in ContainerResources.
    held: list[tuple[Mapping[str, int], Mapping[str, int]]]
    tolerations: list[tuple[Toleration, ...]]
    rules: list[Rules]
    spread: list[tuple[TopologySpreadConstraint, ...]]
    images: list[tuple[str, ...]]
    init_images: list[tuple[str, ...]]
    #: Images that are mounted as volumes.
    volume_images: list[tuple[str, ...]]
    ports: list[tuple[HostPort, ...]]
    schedulers: list[str]
    gates: list[tuple[str, ...]]
    volumes: list[tuple[PodVolume, ...]]
    states: list[PodStates]
    conditions: list[tuple[Condition, ...]]


#: Everything that is known of one pod, by name of the column.
PodRow = dict[str, Any]
#: ``replaces`` of a pod that replaces no other, and ``replaced_by`` of one that no other replaces.
NO_POD: Final = -1
#: How far apart the ranks of pods are that were read together.
_APART: Final = 1 << 32


@dataclass(slots=True)
class Pods:
    """All pods of a cluster; every array has one row a pod.

    Rows of pods that are gone are used again, so they count only where a ``ClusterState`` says that their pod exists.
    """

    names: list[str]
    uids: list[str]
    namespace: IdArray
    #: Index of the node, or PENDING, or UNKNOWN_NODE.
    node: IdArray
    #: Index of the node that ``status.nominatedNodeName`` names, negative as in ``node``.
    nominated: IdArray
    labels: IdArray
    owners: IdArray
    resources: IdArray
    #: What a pod holds on the node where it was observed; -1 where that is what it requests.
    held: IdArray
    tolerations: IdArray
    rules: IdArray
    spread: IdArray
    images: IdArray
    init_images: IdArray
    volume_images: IdArray
    ports: IdArray
    schedulers: IdArray
    gates: IdArray
    volumes: IdArray
    states: IdArray
    conditions: IdArray
    phase: npt.NDArray[np.int8]
    #: 0 BestEffort, 1 Burstable, 2 Guaranteed.
    qos: npt.NDArray[np.int8]
    #: ``spec.priority``, 0 where absent; ``has_priority`` tells the two apart.
    priority: npt.NDArray[np.int64]
    has_priority: npt.NDArray[np.bool_]
    #: creationTimestamp and status.startTime, nanoseconds since the epoch, or NO_TIME.
    created: npt.NDArray[np.int64]
    started: npt.NDArray[np.int64]
    flags: npt.NDArray[np.int16]
    #: The row of the pod that a replacement replaces (``workloads.replacements``), NO_POD for every other pod.
    replaces: IdArray
    #: The row of the last replacement of a pod, NO_POD if it has none.
    replaced_by: IdArray
    #: What canonical order goes by.
    rank: IntArray
    tables: PodTables
    #: Every row that was written since these columns are kept here, oldest first.
    written: list[int] = field(default_factory=list, init=False)
    #: What is kept of the rows as ``values``, and forgotten once one of them is written (``cluster.pod_columns``).
    followers: list[dict[str, Any]] = field(default_factory=list, init=False)
    #: Rows that may be used again.
    _free: list[int] = field(default_factory=list, init=False)
    #: None while others may have the same arrays and tables.
    _columns: GrowingColumns | None = field(default=None, init=False)
    #: Identifiers by value, of the tables that a value was put into.
    _interned: dict[str, dict[Hashable, int]] = field(default_factory=dict, init=False)
    #: Whether the order of rows is that of ranks.
    _rows_in_order: bool = field(default=True, init=False)

    def __len__(self) -> int:
        return len(self.names)

    def shared(self) -> Pods:
        """The same pods for somebody else; whoever of the two writes first copies the columns."""
        self._columns = None
        other = replace(self)
        other._free, other._rows_in_order = list(self._free), self._rows_in_order  # noqa: SLF001  of the same class
        return other

    def read(self) -> BoolArray:
        """The pods that were read, and are no replacements, bool[pod]."""
        read: BoolArray = self.replaces == NO_POD
        read[self._free] = False
        return read

    def row(self, pod: int) -> PodRow:
        """Everything that the columns know of a pod."""
        return {name: getattr(self, name)[pod] for name in _COLUMNS}

    def intern(self, table: str, value: Any) -> int:
        """The identifier of a value in one of the tables, which has it from then on."""
        if self._columns is None:
            self._own()
        values: list[Any] = getattr(self.tables, table)
        if table not in self._interned:
            # Conditions hold times, so those that were read are all different and nobody asks for one of them again.
            known = values if table != "conditions" else []
            self._interned[table] = {hashable(each): identifier for identifier, each in enumerate(known)}
        identifier = self._interned[table].setdefault(hashable(value), len(values))
        if identifier == len(values):
            values.append(value)
        return identifier

    @property
    def has_free_rows(self) -> bool:
        """Whether the next pod takes the row of one that is gone."""
        return bool(self._free)

    def add(self, row: PodRow) -> int:
        """Put a pod into a row that is free, or else into a new one; returns which."""
        if not self._free:
            return self.append(row)
        pod = self._free.pop()
        self.write(pod, row)
        return pod

    def append(self, row: PodRow) -> int:
        """Put a pod into a new row; returns which."""
        if self._columns is None:
            self._own()
        pod = len(self.names)
        self.names.append("")
        self.uids.append("")
        self._resize(pod + 1)
        self.write(pod, row)
        return pod

    def write(self, pod: int, row: PodRow) -> None:
        """Change everything that is known of a pod."""
        if self._columns is None:
            self._own()
        for name, value in row.items():
            getattr(self, name)[pod] = value
        self.written.append(pod)
        for kept in self.followers:
            kept.pop("values", None)
        self.followers.clear()
        self._rows_in_order = False

    def free(self, pod: int) -> None:
        """Let the row of a pod that is gone be used again."""
        self._free.append(pod)

    def take_back(self, pod: int, row: PodRow) -> None:
        """Give the row that was freed last back to its pod."""
        last = self._free.pop()
        assert last == pod, "rows are given back in reverse order"
        self.write(pod, row)

    def link(self, pod: int, replaces: int) -> None:
        """Have a pod be there in place of another one, or of none (NO_POD)."""
        if self._columns is None:
            self._own()
        self.replaces[pod] = replaces

    def in_order(self, pods: IntArray) -> IntArray:
        """Some pods in canonical order."""
        return pods[np.argsort(self.rank[pods], kind="stable")]

    def where(self, chosen: BoolArray) -> IntArray:
        """The pods of a mask, bool[pod], in canonical order."""
        found = np.flatnonzero(chosen)
        return found if self._rows_in_order else self.in_order(found)

    def is_over(self, pod: int) -> bool:
        """Whether a pod is Succeeded or Failed."""
        return int(self.phase[pod]) in _OVER

    def is_replacement(self, pod: int) -> bool:
        """Whether a pod is there in place of another one."""
        return bool(self.replaces[pod] != NO_POD)

    def original(self, pod: int) -> int:
        """The pod that a replacement goes back to, or the pod itself."""
        while self.replaces[pod] != NO_POD:
            pod = int(self.replaces[pod])
        return pod

    def _own(self) -> None:
        """Have columns of our own from now on."""
        arrays = {name: getattr(self, name) for name in _COLUMNS if isinstance(getattr(self, name), np.ndarray)}
        self._columns = GrowingColumns(arrays)
        self.names, self.uids = list(self.names), list(self.uids)
        self.tables = PodTables(**{each.name: list(getattr(self.tables, each.name)) for each in fields(self.tables)})
        self._resize(len(self.names))

    def _resize(self, count: int) -> None:
        assert self._columns is not None
        for name, column in self._columns.resized(count).items():
            setattr(self, name, column)

    def full_name(self, pod: int) -> str:
        """``namespace/name`` of a pod."""
        return f"{self.tables.namespaces[self.namespace[pod]]}/{self.names[pod]}"

    def has(self, flag: Flag) -> npt.NDArray[np.bool_]:
        """Which pods carry a flag, bool[pod]."""
        return np.bitwise_and(self.flags, int(flag)).astype(bool)

    def on_unknown_nodes(self) -> int:
        """How many pods are on nodes that the input does not hold."""
        return int((self.node == UNKNOWN_NODE).sum())

    @property
    def terminal(self) -> npt.NDArray[np.bool_]:
        """Which pods are Succeeded or Failed: they hold no resources. bool[pod]."""
        return np.isin(self.phase, (Phase.SUCCEEDED, Phase.FAILED))


def ranks(count: int) -> IntArray:
    """The ranks of so many pods that are in order."""
    return np.arange(count, dtype=np.int64) * _APART


_COLUMNS: Final = tuple(each.name for each in fields(Pods) if each.init and each.name != "tables")
