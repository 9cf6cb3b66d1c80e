"""What is known of a pod: the values of its columns, what its annotations forbid, and the pod as it is now.

Columns of ``Pods`` hold phases, flags and identifiers; the distinct values that identifiers point into are here.
Annotations of Karpenter, the cluster autoscaler and deschedulers are read as their own program reads them, so that a
value which means nothing there means nothing here. ``PodNow`` is one pod for the code that acts on it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from msgspec import Struct

from restow.kube.duration import parse_duration
from restow.kube.node_selection import NodeSelection, WeightedTerm
from restow.kube.objects import (
    AWSElasticBlockStore,
    Condition,
    ContainerStatus,
    GCEPersistentDisk,
    ISCSIVolume,
    OwnerReference,
    PodAffinity,
    PodAnnotations,
    RBDVolume,
    Toleration,
    TopologySpreadConstraint,
    Volume,
)
from restow.kube.objects.pods import SCHEDULING_GROUP, WORKLOAD_REFERENCE

#: A time that is absent (Go's zero time lies further back than int64 nanoseconds reach).
NO_TIME = np.iinfo(np.int64).min


class Phase(enum.IntEnum):
    """``status.phase``; an absent phase is Pending-like for every rule that restow has."""

    UNKNOWN = 0
    PENDING = 1
    RUNNING = 2
    SUCCEEDED = 3
    FAILED = 4


#: The phases of pods that hold nothing any more.
OVER = frozenset((int(Phase.SUCCEEDED), int(Phase.FAILED)))
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
    #: Behind that gate, it waits behind gates of others too.
    OTHER_GATES = 16384


class PodOrigin(NamedTuple):
    """How a pod was created, which shows how the next one may differ; no scheduler reads it."""

    #: The names of its containers.
    containers: tuple[str, ...] = ()
    init_containers: tuple[str, ...] = ()
    #: ``spec.priorityClassName``.
    priority_class: str = ""
    #: Whether its spec is as it was created (``metadata.generation`` is 1); None where nothing says so.
    as_created: bool | None = None
    #: Whether the admission controller of VerticalPodAutoscalers has set its requests.
    by_autoscaler: bool = False
    #: Whether its status says that it is being resized.
    resizing: bool = False


@dataclass(slots=True, frozen=True)
class PlacementRules:
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
    #: The texts of ``nodeSelector`` and ``affinity``.
    key: tuple[bytes, bytes] = field(default=(b"", b""), compare=False)


class PodVetoes(NamedTuple):
    """What a pod's annotations forbid other programs to do with it."""

    #: ``karpenter.sh/do-not-disrupt``: how long after its start the pod must stay, in nanoseconds; 0 if it need not.
    do_not_disrupt: int = 0
    #: Whether ``cluster-autoscaler.kubernetes.io/safe-to-evict`` is "false".
    unsafe_to_evict: bool = False
    #: Whether ``safe-to-evict-local-volumes`` names volumes, and not all of the pod's local ones.
    unsafe_volumes: bool = False
    #: Whether another program is carrying out an eviction that it was asked for.
    eviction_in_progress: bool = False


#: Of a pod that forbids nothing, as almost all do.
NO_VETOES = PodVetoes()
#: ``do_not_disrupt`` of a pod that must stay at any age.
ALWAYS = 2**63 - 1


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


class PodClaim(NamedTuple):
    """A claim of devices that a pod uses."""

    #: What the pod calls it.
    name: str
    #: The name of the ResourceClaim; empty where it is not made yet.
    claim: str = ""
    #: The name of the ResourceClaimTemplate that it was made of; empty for a claim that the pod names itself.
    template: str = ""
    #: Whether it is the claim of a next pod, which will be made of its template.
    to_make: bool = False


@dataclass(slots=True, frozen=True)
class ContainerResources:
    """Requests of one distinct set of containers."""

    #: Effective request by resource name: cpu in milli, everything else in whole units, rounded up.
    requests: Mapping[str, int]
    #: Resource names that a regular or init container requests explicitly, even as 0.
    named: frozenset[str]
    #: QoS class that the containers imply when the status does not name it.
    qos: int
    #: What scores count for a pod on a node: containers that request no CPU or memory take 100m and 200Mi.
    nonzero: Mapping[str, int]
    #: ``nonzero`` of a pod that is being scheduled; requests of the pod itself do not count there.
    scored: Mapping[str, int]
    #: The texts that this was read of, as ``cluster.pod_parts.ResourcesKey``.
    key: tuple[Any, ...] = field(default=((), (), b"", b""), compare=False)


class PodStates(Struct, frozen=True):
    """Phase, reason and container states of one distinct status."""

    phase: str
    reason: str
    containers: tuple[ContainerStatus, ...]
    init_containers: tuple[ContainerStatus, ...]
    ephemeral_containers: tuple[ContainerStatus, ...]


#: The label that names the PodGroup of the plugin Coscheduling.
POD_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
#: Values by the annotation or the field of ``spec`` that they stand in.
GroupMarks = tuple[tuple[str, str], ...]


def scheduling_group(marks: GroupMarks) -> str:
    """The name of the PodGroup that pods with these marks are scheduled with; empty where there is none."""
    return dict(marks).get(SCHEDULING_GROUP, "") if marks else ""


def workload_reference(marks: GroupMarks) -> str:
    """The Workload, its group and the replica of it that pods with these marks name; empty where there is none."""
    return dict(marks).get(WORKLOAD_REFERENCE, "") if marks else ""


def coscheduling_group(labels: Mapping[str, str]) -> str:
    """The name of the PodGroup of Coscheduling in these labels; empty where there is none."""
    return labels.get(POD_GROUP_LABEL, "")


class PodTables(Struct, frozen=True):
    """The distinct values that the identifier columns of ``Pods`` point into."""

    namespaces: list[str]
    labels: list[Mapping[str, str]]
    owners: list[tuple[OwnerReference, ...]]
    resources: list[ContainerResources]
    #: What pods hold that are being resized: requests and ``nonzero``, as in ContainerResources.
    held: list[tuple[Mapping[str, int], Mapping[str, int]]]
    tolerations: list[tuple[Toleration, ...]]
    rules: list[PlacementRules]
    spread: list[tuple[TopologySpreadConstraint, ...]]
    images: list[tuple[str, ...]]
    init_images: list[tuple[str, ...]]
    #: Images that are mounted as volumes.
    volume_images: list[tuple[str, ...]]
    ports: list[tuple[HostPort, ...]]
    schedulers: list[str]
    gates: list[tuple[str, ...]]
    #: The groups of pods that annotations and ``spec`` name.
    group_marks: list[GroupMarks]
    volumes: list[tuple[PodVolume, ...]]
    claims: list[tuple[PodClaim, ...]]
    origins: list[PodOrigin]
    vetoes: list[PodVetoes]
    states: list[PodStates]
    conditions: list[tuple[Condition, ...]]


@dataclass(slots=True, frozen=True)
class PodNow:
    """Questions about a single pod before and after an eviction."""

    namespace: str
    name: str
    uid: str
    #: ``spec.nodeName``; None while it is pending.
    node: str | None
    phase: Phase
    flags: Flag
    owners: tuple[OwnerReference, ...]
    conditions: tuple[Condition, ...]
    #: creationTimestamp, nanoseconds since the epoch.
    created: int
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: What else names its group.
    group_marks: GroupMarks = ()
    #: status.startTime, or NO_TIME.
    started: int = NO_TIME
    #: What its annotations forbid.
    vetoes: PodVetoes = NO_VETOES

    @property
    def is_terminating(self) -> bool:
        """Whether it is being deleted."""
        return bool(self.flags & Flag.TERMINATING)

    @property
    def is_gated(self) -> bool:
        """Whether it waits behind the gate of steering."""
        return bool(self.flags & Flag.STEERING_GATE)

    @property
    def waits_for_others(self) -> bool:
        """Whether it waits behind the gate of steering, and behind gates of others too."""
        return bool(self.flags & Flag.OTHER_GATES)

    @property
    def is_ready(self) -> bool:
        """Whether its condition Ready says so."""
        return any(each.type == "Ready" and each.status == "True" for each in self.conditions)


#: ``emptyDir.medium`` of volumes that are not on a disk.
_MEMORY = "Memory"


def vetoes_of(annotations: PodAnnotations, volumes: Iterable[Volume]) -> PodVetoes:
    """Return what these annotations forbid of a pod with these volumes."""
    if (
        annotations.do_not_disrupt is None
        and annotations.safe_to_evict is None
        and annotations.safe_local_volumes is None
        and annotations.eviction_in_progress is None
    ):
        return NO_VETOES
    vetoes = PodVetoes(
        do_not_disrupt=_protected_for(annotations.do_not_disrupt),
        unsafe_to_evict=annotations.safe_to_evict == "false",
        unsafe_volumes=_names_too_few(annotations, volumes),
        eviction_in_progress=annotations.eviction_in_progress is not None,
    )
    return NO_VETOES if vetoes == NO_VETOES else vetoes


def _protected_for(value: str | None) -> int:
    """Return how long after its start a pod must stay. Source: IsDoNotDisruptActive, Karpenter 1.9."""
    if value is None:
        return 0
    if value == "true":
        return ALWAYS
    try:
        return max(0, parse_duration(value))
    except ValueError:
        return 0


def _names_too_few(annotations: PodAnnotations, volumes: Iterable[Volume]) -> bool:
    """Whether some volumes are named as safe, and a local one is not. Source: drain, cluster autoscaler 1.34."""
    if not annotations.safe_local_volumes or annotations.safe_to_evict == "true":
        return False
    safe = annotations.safe_local_volumes.split(",")
    return any(_is_local(volume) and volume.name not in safe for volume in volumes)


def _is_local(volume: Volume) -> bool:
    return volume.host_path is not None or (volume.empty_dir is not None and volume.empty_dir.medium != _MEMORY)
