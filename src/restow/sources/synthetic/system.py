"""What every cluster has besides workloads: the API's Service, a budget for its DNS, a CSINode for each node, volumes.

Without them a dump would not show whether there are objects of these kinds at all, and nothing could be proven. The
names follow from what is there already, so nothing is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import NAMESPACE_DNS, uuid5

from restow.sources.synthetic.names import BUILT, ZONE, uid
from restow.sources.synthetic.pods import claim_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from random import Random

    from restow.sources.synthetic.names import Object
    from restow.sources.synthetic.workloads import SyntheticWorkload

#: Volumes that a node can attach.
ATTACHABLE = 39

_STORAGE_CLASS = "network-disk"
_DRIVER = "disk.csi.example.com"


def system_objects(nodes: Iterable[str], namespaces: Iterable[str]) -> Iterator[Object]:
    """Yield what a cluster of these nodes has of itself; ``namespaces`` are those that the caller makes."""
    for name in sorted({"default", "kube-system"}.difference(namespaces)):
        yield _namespace(name)
    yield _service("default", "kubernetes", None)
    yield _dns_budget()
    for name in nodes:
        yield _csi_node(name)


def service_of(owner: SyntheticWorkload) -> Iterator[Object]:
    """Yield the Service of a Deployment or a StatefulSet; other workloads have none."""
    if owner.kind in {"Deployment", "StatefulSet"}:
        yield _service(owner.namespace, owner.name, {"app": owner.name})


def _service(namespace: str, name: str, selector: dict[str, str] | None) -> Object:
    spec: Object = {"ports": [{"port": 80, "protocol": "TCP"}], "type": "ClusterIP"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(f"Service/{namespace}/{name}", name) | {"namespace": namespace},
        "spec": spec | ({"selector": selector} if selector else {}),
    }


def _namespace(name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": _metadata(f"Namespace/{name}", name) | {"labels": {"kubernetes.io/metadata.name": name}},
        "status": {"phase": "Active"},
    }


def _dns_budget() -> Object:
    selector = {"matchLabels": {"k8s-app": "kube-dns"}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata("PodDisruptionBudget/kube-dns", "kube-dns") | {"namespace": "kube-system"},
        "spec": {"maxUnavailable": 1, "selector": selector},
        "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
    }


def _csi_node(name: str) -> Object:
    driver = {"name": _DRIVER, "nodeID": name, "allocatable": {"count": ATTACHABLE}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": _metadata(f"CSINode/{name}", name),
        "spec": {"drivers": [driver]},
    }


def _metadata(key: str, name: str) -> Object:
    return {"name": name, "uid": str(uuid5(NAMESPACE_DNS, key)), "creationTimestamp": BUILT}


def storage_class(rng: Random) -> Object:
    """Make the one StorageClass: volumes appear where their first pod runs."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": _STORAGE_CLASS, "uid": uid(rng), "creationTimestamp": BUILT},
        "provisioner": _DRIVER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def bound_claim(owner: SyntheticWorkload, replica: int, rng: Random, *, zone: str | None = None) -> Iterator[Object]:
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
            "storageClassName": _STORAGE_CLASS,
            "volumeName": volume,
        },
        "status": {"phase": "Bound"},
    }
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "10Gi"},
        "claimRef": {"kind": "PersistentVolumeClaim", "name": claim, "namespace": owner.namespace, "uid": identity},
        "csi": {"driver": _DRIVER, "volumeHandle": volume},
        "storageClassName": _STORAGE_CLASS,
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
