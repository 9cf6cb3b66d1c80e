"""The claims, volumes and classes that pods reach through their volumes, looked up as the scheduler's listers do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.pod_columns import by_value
from restow.cluster.pod_values import PodVolume
from restow.cluster.snapshot import Key
from restow.kube.objects import Annotations, CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.extension_points import Outcome

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
