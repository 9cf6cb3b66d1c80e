"""How the status of a pod or a node changes: conditions, and the phase.

A condition keeps the time of its last transition as long as its status stays the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from restow.kube.manifests import Node, Pod
from restow.kube.objects import Condition

DISRUPTION_TARGET = "DisruptionTarget"


def status_of(conditions: Iterable[Condition] | None, kind: str, default: str) -> str:
    """What a condition says; ``default`` where there is none of that type."""
    return next((each.status for each in conditions or () if each.type == kind), default)


def with_containers(pod: Pod, **changed: Any) -> Pod:
    """The pod with changes to the status of each container."""
    containers = tuple(structs.replace(each, **changed) for each in pod.status.container_statuses or ())
    return structs.replace(pod, status=structs.replace(pod.status, container_statuses=containers))


def started_again(pod: Pod) -> Pod:
    """The pod with all containers started once more, none of them ready."""
    containers = tuple(
        structs.replace(each, ready=False, restart_count=each.restart_count + 1, state=None)
        for each in pod.status.container_statuses or ()
    )
    return structs.replace(pod, status=structs.replace(pod.status, container_statuses=containers))


def not_ready(pod: Pod, now: str) -> Pod:
    """The pod of which not all containers are ready."""
    for kind in ("Ready", "ContainersReady"):
        pod = with_condition(pod, kind, "False", now, "ContainersNotReady")
    return pod


def with_condition(pod: Pod, kind: str, status: str, now: str, reason: str | None = None) -> Pod:
    """The pod with a condition; ``now`` is the time of the transition, if it is one."""
    conditions = _with(pod.status.conditions or (), kind, status, now, reason)
    return structs.replace(pod, status=structs.replace(pod.status, conditions=conditions))


def with_node_condition(node: Node, kind: str, status: str, now: str, reason: str | None = None) -> Node:
    """The node with a condition."""
    conditions = _with(node.status.conditions or (), kind, status, now, reason)
    return structs.replace(node, status=structs.replace(node.status, conditions=conditions))


def _with(known: tuple[Condition, ...], kind: str, status: str, now: str, reason: str | None) -> tuple[Condition, ...]:
    old = next((each for each in known if each.type == kind), None)
    since = old.last_transition_time if old is not None and old.status == status else now
    made = Condition(kind, status, reason, since)
    if old is None:
        return (*known, made)
    return tuple(made if each is old else each for each in known)


def over(pod: Pod, phase: str, now: str, reason: str | None = None) -> Pod:
    """The pod once it has ended: Succeeded or Failed, and not ready any more."""
    ended = structs.replace(pod, status=structs.replace(pod.status, phase=phase, reason=reason))
    for kind in ("Ready", "ContainersReady"):
        ended = with_condition(ended, kind, "False", now, "PodCompleted" if phase == "Succeeded" else "PodFailed")
    return ended
