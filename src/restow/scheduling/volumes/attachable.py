"""What a pod's volumes mean to the CSI drivers of a node: one attached volume each.

Disks of the cloud providers that have a driver built into Kubernetes count as volumes of the CSI driver that replaced
it. Source: NodeVolumeLimits, csi-translation-lib, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import structs

from restow.cluster.interning import BoolArray
from restow.cluster.nodes import NodePart
from restow.cluster.pod_values import Disk, PodVolume
from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.objects import (
    AWSElasticBlockStore,
    CSINode,
    GCEPersistentDisk,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
)
from restow.scheduling.volumes.storage import Storage, class_of_claim

#: The built-in drivers that CSI drivers replaced.
_AWS, _GCE, _AZURE = "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd", "kubernetes.io/azure-disk"
_CINDER, _PORTWORX = "kubernetes.io/cinder", "kubernetes.io/portworx-volume"
_SUCCESSORS = {
    _AWS: "ebs.csi.aws.com",
    _GCE: "pd.csi.storage.gke.io",
    _AZURE: "disk.csi.azure.com",
    _CINDER: "cinder.csi.openstack.org",
    _PORTWORX: "pxd.portworx.com",
}
#: The zone of a GCE disk that names none.
_NO_ZONE = "UNSPECIFIED"
#: Built-in drivers whose volumes never count.
_UNCOUNTED = ("kubernetes.io/azure-file", "kubernetes.io/vsphere-volume")

_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_BETA_ZONE, _BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
#: The label that names the zone for a driver's successor, by the field of the volume.
_ZONE_LABELS = {
    "gce_persistent_disk": ("kubernetes.io/gce-pd", "topology.gke.io/zone"),
    "aws_elastic_block_store": ("kubernetes.io/aws-ebs", "topology.ebs.csi.aws.com/zone"),
    "cinder": ("kubernetes.io/cinder", "topology.cinder.csi.openstack.org/zone"),
}


class Attachable(NamedTuple):
    """A volume of a CSI driver."""

    driver: str
    handle: str


# Such a volume names its zone by Kubernetes' own label, in its node affinity or in its labels; the CSI driver asks for
# a label of its own on the node instead. Which drivers were replaced on a node stands in an annotation of its CSINode.
# Source: csi-translation-lib and VolumeBinding, Kubernetes 1.36.
class Migration:
    """On which nodes of a cluster which built-in drivers are replaced."""

    def __init__(self, cluster: ClusterSnapshot) -> None:
        self._cluster = cluster
        self._nodes = cluster.nodes
        self._known: dict[str, BoolArray] = {}
        self._nodes.follow(NodePart.POSITION, self._forget)

    def _forget(self) -> None:
        self._known = {}
        self.__dict__.pop("_replaced", None)

    @cached_property
    def _replaced(self) -> Mapping[int, frozenset[str]]:
        """The built-in drivers that are replaced on each node."""
        return {
            self._nodes.index[node.metadata.name]: _replaced(node)
            for node in self._cluster.kind("CSINode").values()
            if node.metadata.name in self._nodes.index
        }

    def of(self, volume: PersistentVolume) -> tuple[BoolArray, NodeSelector | None] | None:
        """The nodes that see a volume as one of a CSI driver, bool[node], and which nodes that volume admits.

        None where no node does, or where that changes nothing.
        """
        for field, (driver, zone_label) in _ZONE_LABELS.items():
            if getattr(volume.spec, field) is not None:
                nodes = self._on(driver)
                return (nodes, translated(volume, zone_label)) if nodes.any() else None
        return None

    def _on(self, driver: str) -> BoolArray:
        known = self._known.get(driver)
        if known is None:
            known = self._known[driver] = np.zeros(len(self._nodes), dtype=bool)
            known[[node for node, drivers in self._replaced.items() if driver in drivers]] = True
        return known


def attachables(storage: Storage, pod: int) -> Iterator[Attachable]:
    """The volumes of a pod that CSI drivers attach; what cannot be resolved is left out."""
    for volume in storage.volumes_of(pod):
        found = _of_disk(volume.disk) if volume.disk is not None else _of_claim(storage, pod, volume)
        if found is not None and found.driver and found.handle:
            yield found


def is_migratable(disk: Disk) -> bool:
    """Whether a disk that a pod names itself has a CSI driver."""
    return driver_of(disk) is not None


def driver_of(disk: Disk) -> str | None:
    """The CSI driver that attaches a disk which a pod names itself; None where none does."""
    found = _of_disk(disk)
    return None if found is None else found.driver


def _of_disk(disk: Disk) -> Attachable | None:
    if isinstance(disk, GCEPersistentDisk):
        return _moved(_GCE, f"{_NO_ZONE}/{disk.pd_name}")
    return _moved(_AWS, _aws_handle(disk.volume_id)) if isinstance(disk, AWSElasticBlockStore) else None


def _of_claim(storage: Storage, pod: int, volume: PodVolume) -> Attachable | None:
    claim = storage.claim(pod, volume)
    if claim is None:
        return None
    bound = storage.volume(claim.spec.volume_name) if claim.spec.volume_name else None
    return _of_volume(bound) if bound is not None else _to_be_made(storage, claim)


def _of_volume(volume: PersistentVolume) -> Attachable | None:
    spec = volume.spec
    if spec.csi is not None:
        return Attachable(spec.csi.driver, spec.csi.volume_handle)
    if spec.gce_persistent_disk is not None:
        return _moved(_GCE, f"{_zone(volume)}/{spec.gce_persistent_disk.pd_name}")
    if spec.aws_elastic_block_store is not None:
        return _moved(_AWS, _aws_handle(spec.aws_elastic_block_store.volume_id))
    if spec.azure_disk is not None:
        return _moved(_AZURE, spec.azure_disk.disk_uri)
    if spec.cinder is not None:
        return _moved(_CINDER, spec.cinder.volume_id)
    return _moved(_PORTWORX, spec.portworx_volume.volume_id) if spec.portworx_volume is not None else None


def _to_be_made(storage: Storage, claim: PersistentVolumeClaim) -> Attachable | None:
    """The volume that the class of a claim would make; no other claim has the same."""
    storage_class = storage.storage_class(class_of_claim(claim))
    if storage_class is None or storage_class.provisioner in _UNCOUNTED:
        return None
    handle = f"new {claim.metadata.namespace}/{claim.metadata.name}"
    return Attachable(_SUCCESSORS.get(storage_class.provisioner, storage_class.provisioner), handle)


def _moved(built_in: str, handle: str) -> Attachable:
    return Attachable(_SUCCESSORS[built_in], handle)


def _aws_handle(volume_id: str) -> str:
    """``vol-1`` of ``aws://zone/vol-1``."""
    return volume_id.rpartition("/")[2] if volume_id.startswith("aws://") else volume_id


def _zone(volume: PersistentVolume) -> str:
    """The zones in the labels of a volume; the beta label goes first."""
    labels = volume.metadata.labels or {}
    zones = labels.get("failure-domain.beta.kubernetes.io/zone") or labels.get("topology.kubernetes.io/zone")
    return zones or _NO_ZONE


def translated(volume: PersistentVolume, zone_label: str) -> NodeSelector | None:
    """The required node affinity of a volume, with the successor's label for its zone."""
    affinity = volume.spec.node_affinity
    terms = (affinity.required.node_selector_terms if affinity and affinity.required else None) or ()
    labels = volume.metadata.labels or {}
    named = {each.key for each in _expressions(terms)}
    known = next((key for source in (named, labels) for key in (_ZONE, _BETA_ZONE) if key in source), _ZONE)
    if any(each.values for each in _expressions(terms) if each.key == known):
        terms = _renamed(terms, known, zone_label)
    elif zones := sorted({zone.strip() for zone in labels.get(known, "").split("__")} - {""}):
        wanted = LabelSelectorRequirement(zone_label, "In", tuple(zones))
        terms = tuple(
            structs.replace(term, match_expressions=(*(term.match_expressions or ()), wanted))
            for term in terms or (NodeSelectorTerm(),)
        )
    if known == _BETA_ZONE:
        terms = _renamed(terms, _BETA_REGION, _REGION)
    return NodeSelector(terms) if terms or (affinity and affinity.required) else None


def _expressions(terms: tuple[NodeSelectorTerm, ...]) -> Iterator[LabelSelectorRequirement]:
    return (each for term in terms for each in term.match_expressions or ())


def _renamed(terms: tuple[NodeSelectorTerm, ...], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        structs.replace(
            term,
            match_expressions=tuple(
                structs.replace(each, key=new) if each.key == old else each for each in term.match_expressions or ()
            ),
        )
        for term in terms
    )


def _replaced(node: CSINode) -> frozenset[str]:
    annotations = node.metadata.annotations
    return frozenset(((annotations and annotations.migrated_plugins) or "").split(","))
