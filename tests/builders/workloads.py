"""Controllers, services and disruption budgets."""

from __future__ import annotations

from builders.metadata import API_VERSIONS, Object, metadata, present


def a_workload(
    kind: str,
    name: str,
    *,
    namespace: str = "default",
    replicas: int | None = None,
    selector: Object | None = None,
    labels: Object | None = None,
    owner: tuple[str, ...] | None = None,
    spec: Object | None = None,
) -> Object:
    """A controller of any kind; its uid is the one that an owner reference to it carries."""
    return {
        "apiVersion": API_VERSIONS.get(kind, "v1"),
        "kind": kind,
        "metadata": metadata(kind, name, namespace, labels=labels, owners=[owner] if owner else None),
        "spec": present(replicas=replicas, selector=selector) | (spec or {}),
    }


def a_replica_set(
    name: str,
    *,
    namespace: str = "default",
    replicas: int = 1,
    selector: Object | None = None,
    labels: Object | None = None,
    deployment: str | None = None,
) -> Object:
    """A ReplicaSet, of a Deployment if one is named."""
    owner = ("Deployment", deployment) if deployment else None
    return a_workload(
        "ReplicaSet", name, namespace=namespace, replicas=replicas, selector=selector, labels=labels, owner=owner
    )


def a_deployment(
    name: str,
    *,
    namespace: str = "default",
    replicas: int = 1,
    selector: Object | None = None,
    labels: Object | None = None,
) -> Object:
    """A Deployment."""
    return a_workload("Deployment", name, namespace=namespace, replicas=replicas, selector=selector, labels=labels)


def a_service(name: str, *, namespace: str = "default", selector: Object | None = None) -> Object:
    """A Service; its selector is a plain map of labels."""
    return a_workload("Service", name, namespace=namespace, selector=selector)


def a_pdb(
    name: str,
    *,
    namespace: str = "default",
    selector: Object | None = None,
    min_available: int | str | None = None,
    max_unavailable: int | str | None = None,
    unhealthy_pod_eviction_policy: str | None = None,
    disruptions_allowed: int = 0,
    current_healthy: int = 0,
    desired_healthy: int = 0,
    expected_pods: int = 0,
) -> Object:
    """A PodDisruptionBudget; ``selector`` None is left out, so it covers nothing."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata("PodDisruptionBudget", name, namespace),
        "spec": present(
            selector=selector,
            minAvailable=min_available,
            maxUnavailable=max_unavailable,
            unhealthyPodEvictionPolicy=unhealthy_pod_eviction_policy,
        ),
        "status": {
            "disruptionsAllowed": disruptions_allowed,
            "currentHealthy": current_healthy,
            "desiredHealthy": desired_healthy,
            "expectedPods": expected_pods,
        },
    }
