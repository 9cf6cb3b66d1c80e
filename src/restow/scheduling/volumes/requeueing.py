"""What helps a pod that a plugin of volumes rejected: its claims, and what volumes come from. Source: Kubernetes 1.36."""

from __future__ import annotations

from typing import Any, Final

from restow.kube.objects import CSIDriver, CSINode, CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from restow.scheduling.framework.cluster_events import Action, ClusterEvent, Resource
from restow.scheduling.framework.facts import PodFacts
from restow.scheduling.framework.requeueing import Interest
from restow.scheduling.volumes.matching import size_limit
from restow.scheduling.volumes.storage import annotations_of


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


def _reaches_further(_pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the class is new, or its volumes can be elsewhere than before."""
    old: StorageClass | None = event.old
    new: StorageClass = event.new
    return old is None or (old.allowed_topologies or ()) != (new.allowed_topologies or ())


def _is_migrated(_pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the CSINode is new, or other built-in drivers than before have been replaced on its node."""
    old: CSINode | None = event.old
    new: CSINode = event.new
    return old is None or annotations_of(old).migrated_plugins != annotations_of(new).migrated_plugins


def _stops_telling_capacity(_pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: what is left of the driver's storage is no longer looked at.

    Upstream asks that the pod has a volume of the driver inline, which restow does not read.
    """
    old: CSIDriver = event.old
    new: CSIDriver = event.new
    return bool(old.spec.storage_capacity) and not new.spec.storage_capacity


def _grows(_pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: larger volumes than before can be made."""
    old: CSIStorageCapacity | None = event.old
    new: CSIStorageCapacity = event.new
    if old is None:
        return True
    before, now = size_limit(old), size_limit(new)
    return now is not None and (before is None or now > before)


#: Those of VolumeBinding.
BINDING: Final = (
    Interest(
        Resource.STORAGE_CLASS,
        Action.ADD | Action.UPDATE,
        _reaches_further,
        "a storage class is added, or allows other topologies",
    ),
    Interest(
        Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE, has_claim, "one of its claims is added or changes"
    ),
    Interest(Resource.PERSISTENT_VOLUME, Action.ADD | Action.UPDATE, words="a persistent volume is added or changes"),
    Interest(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, words="a node is added or gets other labels"),
    Interest(
        Resource.CSI_NODE,
        Action.ADD | Action.UPDATE,
        _is_migrated,
        "a CSINode is added, or tells that other drivers are replaced",
    ),
    Interest(
        Resource.CSI_DRIVER,
        Action.UPDATE,
        _stops_telling_capacity,
        "a CSI driver no longer tells how much storage is left",
    ),
    Interest(
        Resource.CSI_STORAGE_CAPACITY, Action.ADD | Action.UPDATE, _grows, "more storage is left for a storage class"
    ),
)
