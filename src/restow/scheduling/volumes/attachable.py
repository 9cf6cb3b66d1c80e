"""What a pod's volumes mean to the CSI drivers of a node: one attached volume each.

Disks of the cloud providers that have a driver built into Kubernetes count as volumes of the CSI driver that replaced
it. Source: NodeVolumeLimits, csi-translation-lib, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from restow.cluster.pods import Disk, PodVolume
from restow.kube.objects import AWSElasticBlockStore, GCEPersistentDisk, PersistentVolume, PersistentVolumeClaim
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
#: The zone of a GCE disk that does not tell.
_NO_ZONE = "UNSPECIFIED"
#: Built-in drivers whose volumes never count.
_UNCOUNTED = ("kubernetes.io/azure-file", "kubernetes.io/vsphere-volume")


class Attachable(NamedTuple):
    """A volume of a CSI driver."""

    driver: str
    handle: str


def attachables(storage: Storage, pod: int) -> Iterator[Attachable]:
    """The volumes of a pod that CSI drivers attach; what cannot be resolved is left out."""
    for volume in storage.volumes_of(pod):
        found = _of_disk(volume.disk) if volume.disk is not None else _of_claim(storage, pod, volume)
        if found is not None and found.driver and found.handle:
            yield found


def is_migratable(disk: Disk) -> bool:
    """Whether a disk that a pod names itself has a CSI driver."""
    return _of_disk(disk) is not None


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
