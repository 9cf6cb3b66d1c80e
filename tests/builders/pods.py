"""Pods: ``a_pod("p1", node="n1", owner=("ReplicaSet", "rs"), labels={"app": "web"})``."""

from __future__ import annotations

from typing import Any

from builders.affinity import a_toleration
from builders.metadata import Object, metadata, present

#: One owner, several, or none.
Owners = tuple[str, ...] | list[tuple[str, ...]] | None


def a_pod(
    name: str,
    *,
    namespace: str = "default",
    node: str | None = None,
    cpu: str | None = "100m",
    memory: str | None = "0",
    requests: Object | None = None,
    limits: Object | None = None,
    images: list[str] | None = None,
    containers: list[Object] | None = None,
    init_containers: list[Object] | None = None,
    owner: Owners = None,
    labels: Object | None = None,
    annotations: Object | None = None,
    priority: int | None = None,
    priority_class: str | None = None,
    tolerations: list[str | Object] | None = None,
    node_selector: Object | None = None,
    affinity: Object | None = None,
    spread: list[Object] | None = None,
    volumes: list[Object] | None = None,
    created: str | None = None,
    deleted: str | None = None,
    uid: str | None = None,
    spec: Object | None = None,
    **status: Any,
) -> Object:
    """A pod of one container without name and image that requests ``cpu`` and ``memory`` (None: no such request).

    ``requests`` and ``limits`` add resources to that container; ``images`` makes one container each, the first with
    the resources; ``containers`` replaces all that. ``owner`` is one ``(kind, name[, uid])`` or a list of them,
    None a bare pod. ``spec`` adds fields by their API names; the remaining arguments are those of ``a_pod_status``.
    """
    owners = [owner] if isinstance(owner, tuple) else owner
    first = present(cpu=cpu, memory=memory) | (requests or {})
    made = [a_container(image=image) for image in images or [""]]
    made[0] = a_container(image=made[0]["image"], requests=first, limits=limits)
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(
            "Pod",
            name,
            namespace,
            labels=labels,
            annotations=annotations,
            created=created,
            deleted=deleted,
            owners=owners,
            uid=uid,
        ),
        "spec": present(
            nodeName=node,
            containers=containers or made,
            initContainers=init_containers,
            priority=priority,
            priorityClassName=priority_class,
            tolerations=[a_toleration(toleration) for toleration in tolerations] if tolerations else None,
            nodeSelector=node_selector,
            affinity=affinity,
            topologySpreadConstraints=spread,
            volumes=volumes,
        )
        | (spec or {}),
    }
    if made_status := a_pod_status(**status):
        pod["status"] = made_status
    return pod


def a_pod_status(
    *,
    phase: str | None = None,
    reason: str | None = None,
    qos: str | None = None,
    started: str | None = None,
    statuses: list[Object] | None = None,
    init_statuses: list[Object] | None = None,
    ephemeral_statuses: list[Object] | None = None,
    conditions: list[Object] | None = None,
    nominated_node: str | None = None,
    claims: dict[str, str] | None = None,
) -> Object:
    """``status`` with the given fields; empty without any. ``claims`` are those made of templates, by what the pod calls them."""
    made = [{"name": name, "resourceClaimName": claim} for name, claim in (claims or {}).items()]
    return present(
        phase=phase,
        reason=reason,
        qosClass=qos,
        startTime=started,
        containerStatuses=statuses,
        initContainerStatuses=init_statuses,
        ephemeralContainerStatuses=ephemeral_statuses,
        conditions=conditions,
        nominatedNodeName=nominated_node,
        resourceClaimStatuses=made or None,
    )


def a_container(
    name: str = "",
    *,
    image: str = "",
    requests: Object | None = None,
    limits: Object | None = None,
    host_ports: list[int] | None = None,
    restart_policy: str | None = None,
) -> Object:
    """A container; ``restart_policy`` "Always" makes an init container a sidecar."""
    resources = present(requests=requests or None, limits=limits)
    ports = [{"containerPort": port, "hostPort": port} for port in host_ports or []]
    return present(
        name=name,
        image=image,
        resources=resources or None,
        ports=ports or None,
        restartPolicy=restart_policy,
    )


def waiting(reason: str, *, restarts: int = 0) -> Object:
    """A container status that waits."""
    return {"restartCount": restarts, "state": {"waiting": {"reason": reason}}}


def terminated(reason: str | None = None, *, exit_code: int = 0, restarts: int = 0) -> Object:
    """A container status that ended."""
    return {"restartCount": restarts, "state": {"terminated": present(reason=reason, exitCode=exit_code)}}


def running(*, restarts: int = 0) -> Object:
    """A container status that runs."""
    return {"restartCount": restarts, "state": {"running": {}}}


def a_condition(
    type: str | None = None, status: str | None = None, *, reason: str | None = None, since: str | None = None
) -> Object:
    """A condition of a pod; ``since`` is its last transition."""
    return present(type=type, status=status, reason=reason, lastTransitionTime=since)


def claim_volume(claim: str) -> Object:
    """A volume from a persistent volume claim."""
    return {"name": claim, "persistentVolumeClaim": {"claimName": claim}}


EMPTY_DIR: Object = {"name": "cache", "emptyDir": {}}
HOST_PATH: Object = {"name": "logs", "hostPath": {"path": "/var/log"}}
