"""What every cluster has beside its workloads: the API's own Service, a budget for its DNS, a CSINode for each node.

Without them a dump would not tell whether there are objects of these kinds at all, and nothing could be proven. The
names follow from what is there already, so nothing is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import NAMESPACE_DNS, uuid5

from restow.sources.synthetic.storage import DRIVER
from restow.sources.synthetic.times import BUILT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from restow.sources.synthetic.names import Object
    from restow.sources.synthetic.workloads import Workload

#: Volumes that a node can attach.
ATTACHABLE = 39


def system_objects(nodes: Iterable[str], namespaces: Iterable[str]) -> Iterator[Object]:
    """Yield what a cluster of these nodes has of itself; ``namespaces`` are those that the caller makes."""
    for name in sorted({"default", "kube-system"}.difference(namespaces)):
        yield _namespace(name)
    yield _service("default", "kubernetes", None)
    yield _dns_budget()
    for name in nodes:
        yield _csi_node(name)


def service_of(owner: Workload) -> Iterator[Object]:
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
    driver = {"name": DRIVER, "nodeID": name, "allocatable": {"count": ATTACHABLE}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": _metadata(f"CSINode/{name}", name),
        "spec": {"drivers": [driver]},
    }


def _metadata(key: str, name: str) -> Object:
    return {"name": name, "uid": str(uuid5(NAMESPACE_DNS, key)), "creationTimestamp": BUILT}
