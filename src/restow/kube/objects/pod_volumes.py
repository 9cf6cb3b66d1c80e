"""Volumes of a pod: the sources that decisions tell apart."""

from __future__ import annotations

from msgspec import Struct, field

from restow.kube.objects.wire import Present


class ClaimSource(Struct, frozen=True, gc=False, rename="camel"):
    """``persistentVolumeClaim`` of a volume."""

    claim_name: str = ""
    read_only: bool = False


class GCEPersistentDisk(Struct, frozen=True, gc=False, rename="camel"):
    """``gcePersistentDisk`` of a volume."""

    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStore(Struct, frozen=True, gc=False, rename="camel"):
    """``awsElasticBlockStore`` of a volume."""

    volume_id: str = field(default="", name="volumeID")


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


class ImageVolume(Struct, frozen=True, gc=False):
    """``image`` of a pod's volume."""

    reference: str = ""


class Volume(Struct, frozen=True, gc=False, rename="camel"):
    """A volume of a pod: the sources that decisions tell apart."""

    name: str = ""
    host_path: Present | None = None
    empty_dir: Present | None = None
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Present | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    iscsi: ISCSIVolume | None = None
    rbd: RBDVolume | None = None
    image: ImageVolume | None = None
