"""How objects change: each is frozen, so a change makes another object with other parts.

A condition keeps the time of its last transition as long as its status stays the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec import structs

from restow.kube.manifests import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    Manifest,
    Node,
    Pod,
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from restow.kube.objects import Condition

_WithSpec = (
    CronJob
    | DaemonSet
    | Deployment
    | Job
    | Node
    | PodDisruptionBudget
    | ReplicaSet
    | ReplicationController
    | StatefulSet
)
Object = TypeVar("Object", bound=Manifest)
Specified = TypeVar("Specified", bound=_WithSpec)
Reporting = TypeVar("Reporting", bound=_WithSpec | Pod)
PodOrNode = TypeVar("PodOrNode", bound=Pod | Node)

#: The condition of a pod that something is about to delete.
DISRUPTION_TARGET = "DisruptionTarget"


def with_metadata(manifest: Object, **changed: object) -> Object:
    """The object with other metadata."""
    return structs.replace(manifest, metadata=structs.replace(manifest.metadata, **changed))


def with_spec(manifest: Specified, **changed: object) -> Specified:
    """The object with another spec; that of a Pod is JSON."""
    return structs.replace(manifest, spec=structs.replace(manifest.spec, **changed))


def with_status(manifest: Reporting, **changed: object) -> Reporting:
    """The object with another status."""
    return structs.replace(manifest, status=structs.replace(manifest.status, **changed))


def status_of(conditions: Iterable[Condition] | None, kind: str, default: str) -> str:
    """What a condition says; ``default`` where there is none of that type."""
    return next((each.status for each in conditions or () if each.type == kind), default)


def with_containers(pod: Pod, **changed: object) -> Pod:
    """The pod with changes to the status of each container."""
    containers = (structs.replace(each, **changed) for each in pod.status.container_statuses or ())
    return with_status(pod, container_statuses=tuple(containers))


def started_again(pod: Pod) -> Pod:
    """The pod with all containers started once more, none of them ready."""
    containers = (
        structs.replace(each, ready=False, restart_count=each.restart_count + 1, state=None)
        for each in pod.status.container_statuses or ()
    )
    return with_status(pod, container_statuses=tuple(containers))


def not_ready(pod: Pod, now: str) -> Pod:
    """The pod of which not all containers are ready."""
    return with_readiness(pod, "False", now, "ContainersNotReady")


def with_readiness(pod: Pod, status: str, now: str, reason: str | None = None) -> Pod:
    """The pod with the conditions Ready and ContainersReady."""
    for kind in ("Ready", "ContainersReady"):
        pod = with_condition(pod, kind, status, now, reason)
    return pod


def with_condition(manifest: PodOrNode, kind: str, status: str, now: str, reason: str | None = None) -> PodOrNode:
    """The pod or node with a condition; ``now`` is the time of the transition, if it is one."""
    return with_status(manifest, conditions=_with(manifest.status.conditions or (), kind, status, now, reason))


def _with(known: tuple[Condition, ...], kind: str, status: str, now: str, reason: str | None) -> tuple[Condition, ...]:
    old = next((each for each in known if each.type == kind), None)
    since = old.last_transition_time if old is not None and old.status == status else now
    made = Condition(kind, status, reason, since)
    if old is None:
        return (*known, made)
    return tuple(made if each is old else each for each in known)


def over(pod: Pod, phase: str, now: str, reason: str | None = None) -> Pod:
    """The pod once it has ended: Succeeded or Failed, and not ready any more."""
    ended = with_status(pod, phase=phase, reason=reason)
    return with_readiness(ended, "False", now, "PodCompleted" if phase == "Succeeded" else "PodFailed")
