"""The claims, volumes and classes that pods reach through their volumes, and what placed pods have reserved of them.

Objects are looked up as the scheduler's listers do. A pod that is placed takes the volumes that its claims match on that
node; the others are to be made there. While it is on the node they are spoken for; when it leaves they are free again.
Where the state takes a change back, the pod has again what it had. Source: Reserve of VolumeBinding, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.journal import NodeChange
from restow.cluster.pod_columns import by_value
from restow.cluster.pod_values import PodVolume
from restow.cluster.snapshot import Key
from restow.cluster.state import ClusterState
from restow.kube.objects import Annotations, CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from restow.scheduling.framework.context import Context, Follower
from restow.scheduling.framework.extension_points import Outcome
from restow.scheduling.framework.requeueing import ClusterEvent, PodFacts

WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"

_NO_ANNOTATIONS = Annotations()
_NONE: Mapping[Key, PersistentVolumeClaim] = MappingProxyType({})


class Storage:
    """Storage objects of one cluster, by the names that lead from a pod to them."""

    def __init__(self, context: Context) -> None:
        cluster = context.state.cluster
        self._pods = cluster.pods
        self._others = cluster.others
        #: Which pods have any volume that matters.
        self.has_volumes = by_value(cluster.pods, "volumes", "volumes", lambda many: [bool(each) for each in many])
        self._volumes: Mapping[Key, PersistentVolume] = cluster.kind("PersistentVolume")
        self._classes: Mapping[Key, StorageClass] = cluster.kind("StorageClass")

    def volumes_of(self, pod: int) -> tuple[PodVolume, ...]:
        """The volumes of a pod that matter, in the order of its spec; empty for nearly every pod."""
        volumes: tuple[PodVolume, ...] = self._pods.tables.volumes[self._pods.volumes[pod]]
        return volumes

    def full_name(self, pod: int) -> str:
        """``namespace/name`` of a pod."""
        return self._pods.full_name(pod)

    def claim_key(self, pod: int, volume: PodVolume) -> Key:
        """The key of the claim behind a volume of a pod."""
        return self._pods.tables.namespaces[self._pods.namespace[pod]], volume.claim

    def claim(self, pod: int, volume: PodVolume) -> PersistentVolumeClaim | None:
        """The claim behind a volume of a pod, if it exists."""
        # Claims of their own come with pods.
        found: PersistentVolumeClaim | None
        found = self._others.get("PersistentVolumeClaim", _NONE).get(self.claim_key(pod, volume))
        return found

    def is_for_pod(self, claim: PersistentVolumeClaim, pod: int) -> bool:
        """Whether a claim was made for this pod: the pod is its controller."""
        owners = claim.metadata.owner_references or ()
        return any(each.controller and each.uid == self._pods.uids[pod] for each in owners)

    def volume(self, name: str) -> PersistentVolume | None:
        """A volume by name, if it exists."""
        return self._volumes.get(("", name))

    def storage_class(self, name: str) -> StorageClass | None:
        """A class by name, if it exists."""
        return self._classes.get(("", name))

    def volumes_of_class(self, name: str) -> Sequence[PersistentVolume]:
        """The volumes of a class, in order of their names."""
        return self._volumes_by_class.get(name, ())

    @property
    def with_volumes(self) -> IntArray:
        """The pods with any volume that matters, in the order of rows."""
        return np.flatnonzero(self.has_volumes.values)

    @cached_property
    def _volumes_by_class(self) -> Mapping[str, Sequence[PersistentVolume]]:
        found: dict[str, list[PersistentVolume]] = defaultdict(list)
        for volume in self._volumes.values():
            found[class_of_volume(volume)].append(volume)
        return found


class VolumePlugin:
    """What the filter plugins for volumes share: they are about pods with volumes, and only such pods change verdicts."""

    def __init__(self, context: Context) -> None:
        self._storage = context.shared(Storage)

    def applies_to(self, pod: int) -> bool:
        """Pods with volumes."""
        return bool(self._storage.volumes_of(pod))

    def affecting_pods(self, _pod: int) -> IntArray:
        """Pods with volumes."""
        return self._storage.with_volumes


def annotations_of(described: PersistentVolumeClaim | PersistentVolume | CSINode) -> Annotations:
    """The annotations of a claim, a volume or a CSINode that mean something."""
    return described.metadata.annotations or _NO_ANNOTATIONS


def class_of_claim(claim: PersistentVolumeClaim) -> str:
    """The name of the class that a claim asks for, or an empty text; the beta annotation goes first."""
    annotated = annotations_of(claim).storage_class
    return annotated if annotated is not None else claim.spec.storage_class_name or ""


def class_of_volume(volume: PersistentVolume) -> str:
    """The name of the class of a volume, or an empty text; the beta annotation goes first."""
    annotated = annotations_of(volume).storage_class
    return annotated if annotated is not None else volume.spec.storage_class_name


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether a claim is bound for good."""
    return bool(claim.spec.volume_name) and annotations_of(claim).bind_completed is not None


def not_found(resource: str, name: str) -> Outcome:
    """The message about a missing object; ``resource`` is its kind in lower case, with its group."""
    return Outcome((f'{resource} "{name}" not found',), unresolvable=True)


@dataclass(slots=True)
class Reservation:
    """What one pod has reserved."""

    #: Claims by the name of the volume that was taken for them.
    taken: dict[str, Key] = field(default_factory=dict)
    #: Nodes by the claim whose volume is to be made there.
    selected: dict[Key, str] = field(default_factory=dict)
    #: The later it was made the higher; where two contradict each other the later one counts.
    number: int = 0


@runtime_checkable
class ReservingPlugin(Protocol):
    """A plugin that knows what a pod takes of the storage of the cluster."""

    def reservation(self, pod: int, node: int) -> Reservation | None:
        """What a pod that is feasible there would take if it were placed on a node now; None where it needs nothing."""
        ...


class Reservations:
    """The reservations of all pods on one state; ``reserve(pod, node)`` says what a pod takes, None for nothing."""

    def __init__(self, state: ClusterState, reserve: Callable[[int, int], Reservation | None]) -> None:
        self._reserve = reserve
        self._by_pod: dict[int, Reservation] = {}
        #: What each pod had each time it left, latest last.
        self._given_up: dict[int, list[Reservation | None]] = defaultdict(list)
        self._count = 0
        #: Counts the changes of what is reserved.
        self.version = 0
        self.all = Reservation()
        #: Takes note of everything that happened since the last time, in its order.
        self.refresh = Follower(state, self._note).catch_up

    def _note(self, change: NodeChange) -> None:
        pod, before = change.pod, self._by_pod.pop(change.pod, None)
        if change.present > 0:
            after = self._returned(pod) if change.undone else self._made(pod, change.node)
            if after is not None:
                self._by_pod[pod] = after
        elif not change.undone:
            self._given_up[pod].append(before)
        if before is not self._by_pod.get(pod):
            self._sum_up()

    def _made(self, pod: int, node: int) -> Reservation | None:
        made = self._reserve(pod, node)
        if made is not None:
            self._count += 1
            made.number = self._count
        return made

    def _returned(self, pod: int) -> Reservation | None:
        """What a pod had before it left; nothing where it was there from the beginning."""
        given_up = self._given_up[pod]
        return given_up.pop() if given_up else None

    def _sum_up(self) -> None:
        self.all = Reservation()
        for each in sorted(self._by_pod.values(), key=lambda reservation: reservation.number):
            self.all.taken |= each.taken
            self.all.selected |= each.selected
        self.version += 1


def names_claim(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the pod names the claim."""
    claim: PersistentVolumeClaim = event.new
    return claim.metadata.namespace == pod.namespace and any(
        each.is_named_claim and each.claim == claim.metadata.name for each in pod.volumes
    )


def has_claim(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the pod names the claim, or it is that of one of its ephemeral volumes."""
    claim: PersistentVolumeClaim = event.new
    return claim.metadata.namespace == pod.namespace and any(
        each.disk is None and each.claim == claim.metadata.name for each in pod.volumes
    )
