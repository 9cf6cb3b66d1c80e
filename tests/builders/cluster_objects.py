"""Namespaces, priority classes, storage and metrics."""

from __future__ import annotations

from builders.affinity import ZONE, node_term
from builders.metadata import Object, metadata, present


def a_namespace(name: str, *, labels: Object | None = None, annotations: Object | None = None) -> Object:
    """A Namespace."""
    about = metadata("Namespace", name, labels=labels, annotations=annotations)
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": about}


def a_priority_class(name: str, value: int, *, default: bool = False) -> Object:
    """A PriorityClass; ``default`` makes it the one of pods that name none."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": metadata("PriorityClass", name),
        "value": value,
        "globalDefault": default,
    }


def a_pvc(
    name: str,
    *,
    namespace: str = "default",
    volume: str | None = None,
    storage_class: str | None = None,
    size: str = "1Gi",
    access_modes: tuple[str, ...] = ("ReadWriteOnce",),
) -> Object:
    """A PersistentVolumeClaim, bound if ``volume`` is named."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata("PersistentVolumeClaim", name, namespace),
        "spec": present(
            volumeName=volume,
            storageClassName=storage_class,
            accessModes=list(access_modes),
            resources={"requests": {"storage": size}},
        ),
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def a_pv(
    name: str,
    *,
    zone: str | None = None,
    storage_class: str = "",
    size: str = "1Gi",
    driver: str = "csi.example.com",
) -> Object:
    """A PersistentVolume of a CSI driver, reachable from one zone only if one is named."""
    affinity = {"required": {"nodeSelectorTerms": [node_term((ZONE, "In", zone))]}} if zone else None
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata("PersistentVolume", name),
        "spec": present(
            capacity={"storage": size},
            storageClassName=storage_class,
            accessModes=["ReadWriteOnce"],
            nodeAffinity=affinity,
            csi={"driver": driver, "volumeHandle": name},
        ),
    }


def a_storage_class(name: str, *, provisioner: str = "csi.example.com", binding: str = "Immediate") -> Object:
    """A StorageClass; ``binding`` is its volumeBindingMode."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": metadata("StorageClass", name),
        "provisioner": provisioner,
        "volumeBindingMode": binding,
    }


def node_metrics(name: str, *, cpu: str = "0", memory: str = "0", timestamp: str | None = None) -> Object:
    """What a node uses, as metrics.k8s.io reports it; ``timestamp`` is when it was measured."""
    return {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "NodeMetrics",
        "metadata": {"name": name},
        "usage": {"cpu": cpu, "memory": memory},
        **present(timestamp=timestamp),
    }


def pod_metrics(
    name: str,
    *,
    namespace: str = "default",
    cpu: str = "0",
    memory: str = "0",
    containers: list[Object] | None = None,
) -> Object:
    """What a pod uses: one container, or the given usage of several."""
    usages = containers or [{"cpu": cpu, "memory": memory}]
    return {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "PodMetrics",
        "metadata": {"name": name, "namespace": namespace},
        "containers": [{"name": f"c{index}", "usage": usage} for index, usage in enumerate(usages)],
    }


def a_pod_group(
    name: str, *, namespace: str = "default", least: int | None = None, priority: int | None = None, **spec: Object
) -> Object:
    """A PodGroup of Kubernetes 1.37: a gang that needs so many pods, or a basic group; ``spec`` adds fields by their names."""
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": metadata("PodGroup", name, namespace),
        "spec": present(schedulingPolicy=_policy(least), priority=priority) | spec,
    }


def a_coscheduled_group(name: str, least: int, **amounts: str) -> Object:
    """A PodGroup of the plugin Coscheduling: so many pods at least, and what the cluster must have free for them."""
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": metadata("PodGroup", name, "default"),
        "spec": {"minMember": least} | ({"minResources": amounts} if amounts else {}),
    }


def in_group(name: str) -> Object:
    """The part of a pod's ``spec`` that makes it one of a group."""
    return {"schedulingGroup": {"podGroupName": name}}


def a_gang_workload(name: str, **groups: int | None) -> Object:
    """A Workload of Kubernetes 1.35 with these groups: gangs that need so many pods, or basic ones (None)."""
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha1",
        "kind": "Workload",
        "metadata": metadata("Workload", name, "default"),
        "spec": {"podGroups": [{"name": group, "policy": _policy(least)} for group, least in groups.items()]},
    }


def of_workload(name: str, group: str, replica: str | None = None) -> Object:
    """The part of a pod's ``spec`` that makes it one of a group of a Workload."""
    return {"workloadRef": present(name=name, podGroup=group, podGroupReplicaKey=replica)}


def _policy(least: int | None) -> Object:
    return {"basic": {}} if least is None else {"gang": {"minCount": least}}
