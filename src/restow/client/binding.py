"""What a scheduler writes: the Binding of a pod, the node of its volumes, the pod's status, and the preemption of others.

A Binding contains the pod's uid, so a new pod with the same name is left alone, and a pod is bound only once: the API
server refuses a second binding. So asking twice is safe. If a response is lost, the request is repeated, and a refusal
after that is compared with the pod itself: our own first request may have bound it.

Of the status, it writes the condition PodScheduled, ``nominatedNodeName``, and why the pod is preempted. A condition
replaces the one of its type, and its ``lastTransitionTime`` changes only with its status; what the pod says already is
not written again.
Source: the binding subresource, schedule_one.go and preemption of kube-scheduler, Kubernetes 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from restow.client import objects
from restow.client.errors import (
    ApiError,
    Conflict,
    Forbidden,
    NoCredentials,
    NotFound,
    Unreachable,
    Untrusted,
    missing_right,
)
from restow.client.flow_control import patiently
from restow.client.listing import as_served
from restow.client.objects import ObjectRef, PatchKind
from restow.client.resources import RESOURCES, ApiResource
from restow.client.transport import Api, Call, Permit
from restow.errors import ClientError

_PODS: Final = RESOURCES["Pod"]
_POD_GROUPS: Final = RESOURCES["PodGroup"]
_CLAIMS: Final = RESOURCES["PersistentVolumeClaim"]
_VOLUMES: Final = RESOURCES["PersistentVolume"]
#: Responses after which it is unknown whether the request was carried out.
_UNKNOWN: Final = (500, 502, 504)

_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"


@dataclass(slots=True, frozen=True)
class Bound:
    """The pod is on the node, by this request or by an earlier one whose answer was lost."""


@dataclass(slots=True, frozen=True)
class Elsewhere:
    """Another program has bound the pod."""

    node: str
    message: str


@dataclass(slots=True, frozen=True)
class PodGone:
    """There is no such pod any more, it is being deleted, or another one has its name."""

    message: str


@dataclass(slots=True, frozen=True)
class BindingRefused:
    """The pod was not bound, and still waits."""

    message: str


@dataclass(slots=True, frozen=True)
class BindingUnanswered:
    """No answer: the pod may be bound to the node, now or in a moment. A watch shows it, and asking again is safe."""

    message: str


Outcome = Bound | Elsewhere | PodGone | BindingRefused | BindingUnanswered


class _PodName(Struct, frozen=True):
    namespace: str
    name: str
    uid: str


class _Node(Struct, frozen=True):
    name: str
    kind: str = "Node"


class _Binding(Struct, frozen=True, rename="camel"):
    metadata: _PodName
    target: _Node
    api_version: str = "v1"
    kind: str = "Binding"


class _Meta(Struct, frozen=True, rename="camel"):
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None


class _Spec(Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Found(Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()


async def bind(api: Api, pod: ObjectRef, node: str, *, permit: Permit) -> Outcome:
    """Bind a pod to a node (its name); NotPermitted is raised if the permission ends before anything was sent.

    Any refusal is an outcome and says in one sentence why.
    """
    binding = _Binding(_PodName(pod.namespace, pod.name, pod.uid), _Node(node))
    call = Call("POST", _PODS.path(pod.namespace, pod.name, "binding"), body=msgspec.json.encode(binding))
    try:
        await patiently(lambda: api.send(call, permit=permit))
    except (Conflict, NotFound) as error:
        return await _as_it_is(api, pod, node, error)
    except Unreachable as error:
        return BindingUnanswered(str(error))
    except (NoCredentials, Untrusted) as error:
        return BindingRefused(str(error))
    except Forbidden as error:
        return BindingRefused(missing_right(error, _PODS, ("create",), "binding"))
    except ApiError as error:
        return BindingUnanswered(error.message) if error.status in _UNKNOWN else BindingRefused(error.message)
    return Bound()


async def _as_it_is(api: Api, pod: ObjectRef, node: str, refusal: ApiError) -> Outcome:
    """What a refused pod turns out to be."""
    try:
        found = await objects.get(api, _PODS, pod.namespace, pod.name, _Found)
    except NotFound:
        return PodGone(refusal.message)
    except ClientError:
        return BindingUnanswered(refusal.message)
    if found.metadata.uid != pod.uid or found.metadata.deletion_timestamp is not None:
        return PodGone(refusal.message)
    if found.spec.node_name == node:
        return Bound()
    if found.spec.node_name:
        return Elsewhere(found.spec.node_name, refusal.message)
    return BindingRefused(refusal.message)


# Source: VolumeBinding, Kubernetes 1.36: the provisioner of a claim with WaitForFirstConsumer waits for the annotation, and
# the controller of volumes binds a claim to the volume that names it.
async def select_node(api: Api, claim: ObjectRef, node: str, *, permit: Permit) -> None:
    """Ask for a claim's volume to be made where a node can reach it; Conflict if the claim is no longer as it was."""
    metadata = claim.preconditions | {"annotations": {_SELECTED_NODE: node}}
    await _change(api, _CLAIMS, claim, {"metadata": metadata}, permit)


async def claim_volume(api: Api, volume: ObjectRef, claim: ObjectRef, *, permit: Permit) -> None:
    """Reserve a volume that exists for a claim; Conflict if the volume is no longer as it was."""
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": claim.namespace,
        "name": claim.name,
        **claim.preconditions,
    }
    metadata = volume.preconditions | {"annotations": {_BOUND_BY_CONTROLLER: "yes"}}
    await _change(api, _VOLUMES, volume, {"metadata": metadata, "spec": {"claimRef": reference}}, permit)


async def _change(api: Api, resource: ApiResource, thing: ObjectRef, change: object, permit: Permit) -> None:
    await patiently(
        lambda: objects.patch(api, resource, thing.namespace, thing.name, change, kind=PatchKind.MERGE, permit=permit)
    )


@dataclass(slots=True, frozen=True)
class Said:
    """A condition of a pod or a PodGroup, as far as a scheduler writes it."""

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
        await _patch_status(api, _PODS, pod, status, permit)


async def write_group_status(api: Api, group: ObjectRef, said: Said, now: float, *, permit: Permit) -> None:
    """Patch a PodGroup's status; ``now`` in seconds since the epoch. Conflict if it has another uid, NotFound if it is gone."""
    resource = await as_served(api, _POD_GROUPS)
    await _patch_status(api, resource, group, {"conditions": [_condition(said, None, 0, now)]}, permit)


async def preempt(api: Api, victim: ObjectRef, scheduler: str, now: float, *, permit: Permit) -> None:
    """Delete a pod in favour of one with a higher priority, after writing that to its status; ``scheduler`` is a profile's name.

    The pod has its own grace period. A pod that is gone already is fine; Conflict if it has another uid or has changed
    since the decision: then nothing was deleted.
    """
    message = f"{scheduler}: preempting to accommodate a higher priority pod"
    condition = Said("DisruptionTarget", "True", "PreemptionByScheduler", message)
    try:
        status = {"conditions": [_condition(condition, None, 0, now)]}
        marked = msgspec.json.decode(await _patch_status(api, _PODS, victim, status, permit), type=_Found)
        version = marked.metadata.resource_version
        await patiently(
            lambda: objects.delete(
                api, _PODS, victim.namespace, victim.name, uid=victim.uid, version=version, permit=permit
            )
        )
    except NotFound:
        return


async def _patch_status(
    api: Api, resource: ApiResource, thing: ObjectRef, status: dict[str, Any], permit: Permit
) -> bytes:
    """Lay a patch over an object's status, and return the object."""
    change = {"metadata": thing.preconditions, "status": status}
    return await patiently(
        lambda: objects.patch(
            api,
            resource,
            thing.namespace,
            thing.name,
            change,
            kind=PatchKind.STRATEGIC,
            subresource="status",
            permit=permit,
        )
    )


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
