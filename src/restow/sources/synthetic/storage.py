"""Claims of StatefulSets, each bound to a volume of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.sources.synthetic.names import uid
from restow.sources.synthetic.nodes import ZONE
from restow.sources.synthetic.pods import claim_name
from restow.sources.synthetic.times import BUILT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from restow.sources.synthetic.names import Object
    from restow.sources.synthetic.workloads import Workload

STORAGE_CLASS = "network-disk"
DRIVER = "disk.csi.example.com"


def storage_class(rng: Random) -> Object:
    """Make the one StorageClass: volumes appear where their first pod runs."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": STORAGE_CLASS, "uid": uid(rng), "creationTimestamp": BUILT},
        "provisioner": DRIVER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def bound_claim(owner: Workload, replica: int, rng: Random, *, zone: str | None = None) -> Iterator[Object]:
    """Yield the claim of a replica and its volume, which only nodes of ``zone`` reach (None: all nodes)."""
    identity = uid(rng)
    claim, volume = claim_name(owner, replica), f"pvc-{identity}"
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": claim,
            "namespace": owner.namespace,
            "uid": identity,
            "creationTimestamp": BUILT,
            "annotations": {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"},
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "10Gi"}},
            "storageClassName": STORAGE_CLASS,
            "volumeName": volume,
        },
        "status": {"phase": "Bound"},
    }
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "10Gi"},
        "claimRef": {"kind": "PersistentVolumeClaim", "name": claim, "namespace": owner.namespace, "uid": identity},
        "csi": {"driver": DRIVER, "volumeHandle": volume},
        "storageClassName": STORAGE_CLASS,
    }
    if zone:
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": volume, "uid": uid(rng), "creationTimestamp": BUILT},
        "spec": spec,
        "status": {"phase": "Bound"},
    }
