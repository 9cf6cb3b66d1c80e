"""What a scheduler writes to a pod's status: the condition PodScheduled, ``nominatedNodeName``, and why the pod is preempted.

A condition replaces the one of its type, and its ``lastTransitionTime`` changes only with its status; what the pod says
already is not written again.
Source: schedule_one.go and preemption of kube-scheduler, Kubernetes 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from restow.client import objects
from restow.client.back_off import patiently
from restow.client.binding import ObjectRef
from restow.client.errors import NotFound
from restow.client.leadership import Permit
from restow.client.objects import PatchKind
from restow.client.resources import RESOURCES
from restow.client.transport import Api

_PODS: Final = RESOURCES["Pod"]


@dataclass(slots=True, frozen=True)
class Said:
    """A condition of a pod, as far as a scheduler writes it."""

    type: str
    status: str
    reason: str
    message: str


def unschedulable(message: str) -> Said:
    """Say that no node takes a pod now. Autoscalers look for this condition."""
    return Said("PodScheduled", "False", "Unschedulable", message)


def scheduler_error(message: str) -> Said:
    """Say that something went wrong while a node was looked for, or with the binding."""
    return Said("PodScheduled", "False", "SchedulerError", message)


@dataclass(slots=True, frozen=True)
class StatusChange:
    """What a pod's status is to say, and what it says now."""

    #: None leaves the conditions alone.
    condition: Said | None = None
    #: The condition of that type that the pod has.
    known: Said | None = None
    #: The node to nominate, empty for none; None leaves the nomination alone.
    nominated_node: str | None = None
    #: The pod's ``metadata.generation``, which a condition records; 0 if it is not known.
    generation: int = 0


async def write_status(api: Api, pod: ObjectRef, change: StatusChange, now: float, *, permit: Permit) -> None:
    """Patch a pod's status, unless it is the same already; ``now`` in seconds since the epoch.

    Conflict if the pod has another uid, NotFound if it is gone.
    """
    status: dict[str, Any] = {}
    if change.condition is not None and change.condition != change.known:
        status["conditions"] = [_condition(change.condition, change.known, change.generation, now)]
    if change.nominated_node is not None:
        status["nominatedNodeName"] = change.nominated_node or None
    if status:
        await _patched(api, pod, status, permit)


async def preempt(api: Api, victim: ObjectRef, scheduler: str, now: float, *, permit: Permit) -> None:
    """Delete a pod in favour of one with a higher priority, after writing that to its status; ``scheduler`` is a profile's name.

    The pod has its own grace period. A pod that is gone already is fine; Conflict if it has another uid or has changed
    since the decision: then nothing was deleted.
    """
    message = f"{scheduler}: preempting to accommodate a higher priority pod"
    condition = Said("DisruptionTarget", "True", "PreemptionByScheduler", message)
    try:
        marked = await _patched(api, victim, {"conditions": [_condition(condition, None, 0, now)]}, permit)
        version = marked.metadata.resource_version
        await patiently(
            lambda: objects.delete(
                api, _PODS, victim.namespace, victim.name, uid=victim.uid, version=version, permit=permit
            )
        )
    except NotFound:
        return


class _Meta(Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Marked(Struct, frozen=True):
    metadata: _Meta = _Meta()


async def _patched(api: Api, pod: ObjectRef, status: dict[str, Any], permit: Permit) -> _Marked:
    """Lay a patch over a pod's status, and return its new version."""
    change = {"metadata": pod.preconditions, "status": status}
    body = await patiently(
        lambda: objects.patch(
            api,
            _PODS,
            pod.namespace,
            pod.name,
            change,
            kind=PatchKind.STRATEGIC,
            subresource="status",
            permit=permit,
        )
    )
    return msgspec.json.decode(body, type=_Marked)


def _condition(condition: Said, known: Said | None, generation: int, now: float) -> dict[str, Any]:
    written: dict[str, Any] = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
    }
    if known is None or known.status != condition.status:
        written["lastTransitionTime"] = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if generation:
        written["observedGeneration"] = generation
    return written
