"""Objects for the tests of the volume plugins."""

from __future__ import annotations

from builders import ZONE, a_pod, a_pv, a_pvc, claim_volume
from scheduling.plugins.asking import INCOMING


def bound(name, volume, **more):
    """A claim that is bound for good."""
    claim = a_pvc(name, volume=volume, **more)
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    return claim


def labelled(name, labels, **more):
    """A volume with labels."""
    volume = a_pv(name, **more)
    volume["metadata"]["labels"] = labels
    return volume


def available(name, **more):
    """A volume that nobody has."""
    return a_pv(name, **more) | {"status": {"phase": "Available"}}


def csi_node(name, driver, limit):
    allocatable = {"allocatable": {"count": limit}}
    return {"kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": [{"name": driver} | allocatable]}}


def attachment(name, node, volume, driver):
    spec = {"attacher": driver, "nodeName": node, "source": {"persistentVolumeName": volume}}
    return {"kind": "VolumeAttachment", "metadata": {"name": name}, "spec": spec}


def csi_driver(name, *, tells_capacity):
    return {"kind": "CSIDriver", "metadata": {"name": name}, "spec": {"storageCapacity": tells_capacity}}


def capacity(name, storage_class, zone, size, **more):
    topology = {"nodeTopology": {"matchLabels": {ZONE: zone}}}
    metadata = {"name": name, "namespace": "kube-system"}
    kind = {"kind": "CSIStorageCapacity", "metadata": metadata, "storageClassName": storage_class, "capacity": size}
    return kind | topology | more


def with_claims(name, *claims, **more):
    """A pod that uses these claims."""
    return a_pod(name, volumes=[claim_volume(claim) for claim in claims], **more)


def with_disk(name, node=None, **source):
    """A pod with one disk: ``with_disk("p", iscsi={"iqn": "a"})``."""
    return a_pod(name, node=node, volumes=[{"name": "disk"} | source])


def incoming(*claims):
    return with_claims(INCOMING, *claims)
