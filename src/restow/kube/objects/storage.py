"""How volumes come about: storage classes, CSI drivers, their capacity and their attachments."""

from __future__ import annotations

from msgspec import Struct, field

from restow.kube.objects.metadata import Int32, LabelSelector, ObjectMeta, WireQuantity


class TopologySelectorLabelRequirement(Struct, frozen=True, gc=False):
    """One requirement of ``allowedTopologies``."""

    key: str = ""
    values: tuple[str, ...] | None = None


class TopologySelectorTerm(Struct, frozen=True, gc=False, rename="camel"):
    """One term of ``allowedTopologies``."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] | None = None


class StorageClass(Struct, frozen=True, gc=False, rename="camel"):
    """A storage.k8s.io/v1 StorageClass."""

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
    """Spec of a CSINode."""

    drivers: tuple[CSINodeDriver, ...] | None = None


class CSINode(Struct, frozen=True, gc=False):
    """A storage.k8s.io/v1 CSINode."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Struct, frozen=True, gc=False, rename="camel"):
    """Spec of a CSIDriver."""

    storage_capacity: bool | None = None


class CSIDriver(Struct, frozen=True, gc=False):
    """A storage.k8s.io/v1 CSIDriver."""

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
    """Spec of a VolumeAttachment."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(Struct, frozen=True, gc=False):
    """A storage.k8s.io/v1 VolumeAttachment."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
