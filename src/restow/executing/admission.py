"""A mutating webhook: adds steering's gate (``spec.schedulingGates``) to new pods of controllers that steering has announced.

It is for clusters whose API server has no admission policies that change objects. The API server sends each new pod of
a controller (``AdmissionReview``, admission.k8s.io/v1), and the response admits it as it is, or with the gate added. A
malformed request is answered by admitting the pod unchanged, as if the webhook were not there.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Raw, Struct

from restow.client.errors import Forbidden, missing_right
from restow.client.listing import Selection
from restow.client.resources import CONFIG_MAPS
from restow.client.transport import Api
from restow.client.watching import Changed, Interrupted, Listed, Removed, WatchEvent, follow
from restow.cluster.pod_reading import STEERING_GATE
from restow.errors import ClientError
from restow.executing.rolling import ANNOTATION as ROLLOUT
from restow.executing.steering import CONFIG_MAP
from restow.kube import decoding
from restow.kube.decoding import DECODING_ERRORS
from restow.kube.objects import ConfigMap, OwnerReference, SchedulingGate
from restow.kube.objects.metadata import ABSENT
from restow.proving.steering import can_be_named

#: The path to which the API server sends reviews.
PATH: Final = "/admission/steer"

_VERBS: Final = ("list", "watch")
#: Seconds after a refusal; roles may be changed at any time.
_PAUSE: Final = 10.0


class _Kind(Struct, frozen=True):
    """The kind of the object under review."""

    group: str = ""
    kind: str = ""


class _Request(Struct, frozen=True, rename="camel"):
    """The request of a review."""

    uid: str = ""
    kind: _Kind = _Kind()
    operation: str = ""
    sub_resource: str = ""
    object: Raw = ABSENT


class _Question(Struct, frozen=True):
    """An AdmissionReview with a request."""

    request: _Request


class _Metadata(Struct, frozen=True, rename="camel"):
    owner_references: tuple[OwnerReference, ...] = ()
    annotations: dict[str, str] | None = None


class _Spec(Struct, frozen=True, rename="camel"):
    node_name: str = ""
    scheduling_gates: tuple[SchedulingGate, ...] = ()


class _Pod(Struct, frozen=True):
    """The parts of a pod that the response depends on."""

    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()


class _Response(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The response of a review."""

    uid: str
    allowed: Literal[True]
    patch_type: str = ""
    #: A JSON patch (RFC 6902) in base64.
    patch: str = ""


class _Answered(Struct, frozen=True, rename="camel"):
    """An AdmissionReview with a response."""

    response: _Response
    api_version: str = "admission.k8s.io/v1"
    kind: str = "AdmissionReview"


_question: Final = msgspec.json.Decoder(_Question)
_pod: Final = msgspec.json.Decoder(_Pod)


class ReviewResponse(NamedTuple):
    """An AdmissionReview to send."""

    review: bytes
    is_gating: bool


# The leader knows what it has just announced. But the API server sends reviews to any replica, and those that do not lead
# read what the leader writes, as an admission policy does. If an entry has not arrived yet, the replacement is not gated
# and lands where the scheduler wants.
@dataclass(slots=True)
class Announced:
    """The controllers in the ConfigMap, which is watched from the first request on."""

    api: Api
    #: Where the ConfigMap is.
    namespace: str
    #: Logs a warning.
    warn: Callable[[str], None]
    _owners: frozenset[str] = field(default=frozenset(), init=False)
    #: The last warning why it cannot be watched.
    _warned: str = field(default="", init=False)
    _asked: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def awaits(self, owner: str) -> bool:
        """Whether a replacement of a controller (a uid) is awaited; False while that is not known."""
        self._asked.set()
        return owner in self._owners

    async def run(self) -> None:
        """Watch until cancelled, from the first request on: on most clusters there is none."""
        await self._asked.wait()
        while True:
            try:
                await self._follow()
            except ClientError as error:
                self._refuse(error)
            await asyncio.sleep(_PAUSE)

    def _refuse(self, error: ClientError) -> None:
        self._owners = frozenset()
        why = missing_right(error, CONFIG_MAPS, _VERBS) if isinstance(error, Forbidden) else str(error)
        if why != self._warned:
            self._warned = why
            self.warn(f"it is not known which replacements wait behind the gate: {why}")

    async def _follow(self) -> None:
        one = Selection(self.namespace, fields=f"metadata.name={CONFIG_MAP}")
        async with aclosing(follow(self.api, CONFIG_MAPS, one)) as events:
            async for event in events:
                self._owners = _owners(event, self._owners)


def answer(review: bytes, awaits: Callable[[str], bool]) -> ReviewResponse:
    """Admit what an AdmissionReview asks about, gated if it is a new pod of a controller, or of a rollout, that is awaited (by its uid)."""
    try:
        request = decoding.decode(_question, review).request
    except DECODING_ERRORS:
        return _written(_Response("", allowed=True))
    return _written(_response(request, awaits))


def _response(request: _Request, awaits: Callable[[str], bool]) -> _Response:
    pod = _new_pod(request)
    if pod is None or not _is_awaited(pod, awaits):
        return _Response(request.uid, allowed=True)
    patch = base64.b64encode(msgspec.json.encode([_gating(pod)])).decode()
    return _Response(request.uid, allowed=True, patch_type="JSONPatch", patch=patch)


def _new_pod(request: _Request) -> _Pod | None:
    """The pod to create; None if the request is about anything else or cannot be read."""
    if request.kind != _Kind("", "Pod") or request.operation != "CREATE" or request.sub_resource:
        return None
    try:
        return decoding.decode(_pod, request.object)
    except DECODING_ERRORS:
        return None


def _is_awaited(pod: _Pod, awaits: Callable[[str], bool]) -> bool:
    """Whether a pod should be gated. One that already has a node should not, because the API server would refuse the gate."""
    owners = pod.metadata.owner_references
    if not can_be_named(owners) or pod.spec.node_name:
        return False
    if any(gate.name == STEERING_GATE for gate in pod.spec.scheduling_gates):
        return False
    rollout = (pod.metadata.annotations or {}).get(ROLLOUT, "")
    return awaits(owners[0].uid) or awaits(rollout)


def _gating(pod: _Pod) -> dict[str, Any]:
    """The JSON patch operation that adds the gate to those that the pod has."""
    gate = {"name": STEERING_GATE}
    if pod.spec.scheduling_gates:
        return {"op": "add", "path": "/spec/schedulingGates/-", "value": gate}
    return {"op": "add", "path": "/spec/schedulingGates", "value": [gate]}


def _written(response: _Response) -> ReviewResponse:
    return ReviewResponse(msgspec.json.encode(_Answered(response)), bool(response.patch))


def _owners(event: WatchEvent, known: frozenset[str]) -> frozenset[str]:
    """The controllers after a watch event.

    None while the watch is interrupted: entries last for about a second, so the old ones say nothing, and the next list has
    all of them.
    """
    match event:
        case Listed(objects):
            return frozenset().union(*map(_named, objects))
        case Changed(changed):
            return _named(changed)
        case Removed() | Interrupted():
            return frozenset()
        case _:
            return known


def _named(config_map: object) -> frozenset[str]:
    """The controllers that a ConfigMap names; none if it cannot be read."""
    return frozenset(config_map.data or ()) if isinstance(config_map, ConfigMap) else frozenset()
