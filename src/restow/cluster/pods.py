"""Pods as columns: one array a property, one row a pod, rows in canonical order (namespace, name).

A column ends in either a number (priority, times) or an identifier into a table of distinct values (tolerations,
owners, states...). The columns never change; where a pod is *now* is the business of ``cluster.state``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import IdArray
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

    namespaces: tuple[str, ...]
    labels: tuple[Mapping[str, str], ...]
    owners: tuple[tuple[OwnerReference, ...], ...]
    resources: tuple[ContainerResources, ...]
    #: What pods hold that are being resized: requests and ``nonzero``, as in ContainerResources.
    held: tuple[tuple[Mapping[str, int], Mapping[str, int]], ...]
    tolerations: tuple[tuple[Toleration, ...], ...]
    rules: tuple[Rules, ...]
    spread: tuple[tuple[TopologySpreadConstraint, ...], ...]
    images: tuple[tuple[str, ...], ...]
    init_images: tuple[tuple[str, ...], ...]
    #: Images that are mounted as volumes.
    volume_images: tuple[tuple[str, ...], ...]
    ports: tuple[tuple[HostPort, ...], ...]
    schedulers: tuple[str, ...]
    gates: tuple[tuple[str, ...], ...]
    volumes: tuple[tuple[PodVolume, ...], ...]
    states: tuple[PodStates, ...]
    conditions: tuple[tuple[Condition, ...], ...]


@dataclass(slots=True, frozen=True)
class Pods:
    """All pods of a cluster; every array has one row a pod."""

    names: tuple[str, ...]
    uids: tuple[str, ...]
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
    #: Which pods the input holds; the others are replacements that may come (``cluster.replacements``).
    observed: npt.NDArray[np.bool_]
    tables: PodTables

    def __len__(self) -> int:
        return len(self.names)

    def full_name(self, pod: int) -> str:
        """``namespace/name`` of a pod."""
        return f"{self.tables.namespaces[self.namespace[pod]]}/{self.names[pod]}"

    def has(self, flag: Flag) -> npt.NDArray[np.bool_]:
        """Which pods carry a flag, bool[pod]."""
        return np.bitwise_and(self.flags, flag).astype(bool)

    def on_unknown_nodes(self) -> int:
        """How many pods are on nodes that the input does not hold."""
        return int((self.node == UNKNOWN_NODE).sum())

    @property
    def terminal(self) -> npt.NDArray[np.bool_]:
        """Which pods are Succeeded or Failed: they hold no resources. bool[pod]."""
        return np.isin(self.phase, (Phase.SUCCEEDED, Phase.FAILED))
