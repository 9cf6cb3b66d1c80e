"""Volumes: what pods mount, claims, volumes, storage classes, CSI drivers, their capacity and their attachments."""

from __future__ import annotations

from msgspec import Struct, field

from restow.kube.objects.metadata import Int32, LabelSelector, NodeSelector, ObjectMeta, Present, WireQuantity


class GCEPersistentDisk(Struct, frozen=True, gc=False, rename="camel"):
    """``gcePersistentDisk`` of a volume."""

    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStore(Struct, frozen=True, gc=False, rename="camel"):
    """``awsElasticBlockStore`` of a volume."""

    volume_id: str = field(default="", name="volumeID")


class VolumeResources(Struct, frozen=True, gc=False):
    """``resources`` of a claim."""

    requests: dict[str, WireQuantity] | None = None


class PersistentVolumeClaimSpec(Struct, frozen=True, gc=False, rename="camel"):
    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] | None = None
    resources: VolumeResources | None = None
    selector: LabelSelector | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(Struct, frozen=True, gc=False):
    phase: str = ""


class PersistentVolumeClaim(Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class VolumeNodeAffinity(Struct, frozen=True, gc=False):
    """``spec.nodeAffinity`` of a volume."""

    required: NodeSelector | None = None


class CSIVolumeSource(Struct, frozen=True, gc=False, rename="camel"):
    """``spec.csi`` of a volume."""

    driver: str = ""
    volume_handle: str = ""


class AzureDisk(Struct, frozen=True, gc=False):
    """``spec.azureDisk`` of a volume."""

    disk_uri: str = field(default="", name="diskURI")


class DiskByID(Struct, frozen=True, gc=False):
    """``spec.cinder`` and ``spec.portworxVolume`` of a volume."""

    volume_id: str = field(default="", name="volumeID")


class ObjectReference(Struct, frozen=True, gc=False):
    """``spec.claimRef`` of a volume."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class PersistentVolumeStatus(Struct, frozen=True, gc=False):
    phase: str = ""


class PersistentVolumeSpec(Struct, frozen=True, gc=False, rename="camel"):
    capacity: dict[str, WireQuantity] | None = None
    storage_class_name: str = ""
    access_modes: tuple[str, ...] | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    claim_ref: ObjectReference | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    cinder: DiskByID | None = None
    portworx_volume: DiskByID | None = None


class PersistentVolume(Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class ClaimSource(Struct, frozen=True, gc=False, rename="camel"):
    """``persistentVolumeClaim`` of a volume."""

    claim_name: str = ""
    read_only: bool = False


class ISCSIVolume(Struct, frozen=True, gc=False, rename="camel"):
    """``iscsi`` of a pod's volume."""

    iqn: str = ""
    read_only: bool = False


class RBDVolume(Struct, frozen=True, gc=False, rename="camel"):
    """``rbd`` of a pod's volume."""

    monitors: tuple[str, ...] | None = None
    pool: str = ""
    image: str = ""
    read_only: bool = False


class EmptyDir(Struct, frozen=True, gc=False):
    """``emptyDir`` of a pod's volume."""

    medium: str = ""


class ImageVolume(Struct, frozen=True, gc=False):
    """``image`` of a pod's volume."""

    reference: str = ""


class Volume(Struct, frozen=True, gc=False, rename="camel"):
    """A volume of a pod, by the sources that matter to decisions."""

    name: str = ""
    host_path: Present | None = None
    empty_dir: EmptyDir | None = None
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Present | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    iscsi: ISCSIVolume | None = None
    rbd: RBDVolume | None = None
    image: ImageVolume | None = None


class TopologySelectorLabelRequirement(Struct, frozen=True, gc=False):
    """One requirement of ``allowedTopologies``."""

    key: str = ""
    values: tuple[str, ...] | None = None


class TopologySelectorTerm(Struct, frozen=True, gc=False, rename="camel"):
    """One term of ``allowedTopologies``."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] | None = None


class StorageClass(Struct, frozen=True, gc=False, rename="camel"):
    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] | None = None


class CSINodeAllocatable(Struct, frozen=True, gc=False):
    """How many volumes of a driver a node may attach."""

    count: Int32 | None = None


class CSINodeDriver(Struct, frozen=True, gc=False, rename="camel"):
    """A driver of a CSINode."""

    name: str = ""
    node_id: str = field(default="", name="nodeID")
    topology_keys: tuple[str, ...] | None = None
    allocatable: CSINodeAllocatable | None = None


class CSINodeSpec(Struct, frozen=True, gc=False):
    drivers: tuple[CSINodeDriver, ...] | None = None


class CSINode(Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Struct, frozen=True, gc=False, rename="camel"):
    storage_capacity: bool | None = None
    #: Since 1.37.
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Struct, frozen=True, gc=False, rename="camel"):
    """A storage.k8s.io/v1 CSIStorageCapacity: what is left for one class in one part of the cluster."""

    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: WireQuantity | None = None
    maximum_volume_size: WireQuantity | None = None


class VolumeAttachmentSource(Struct, frozen=True, gc=False, rename="camel"):
    """``spec.source`` of a VolumeAttachment."""

    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Struct, frozen=True, gc=False, rename="camel"):
    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
