"""The answer of a mutating webhook: whether a new pod waits behind the gate of steering.

For clusters whose API server has no admission policies that change objects. The API server asks about each new pod of a
controller (``AdmissionReview``, admission.k8s.io/v1), and the answer is the pod as it is, or with an additional scheduling gate.
If a question is malformed, the answer admits the pod unchanged, as if nobody had answered.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Raw, Struct

from restow.cluster.pod_reading import STEERING_GATE
from restow.descheduling.steering import can_be_named
from restow.kube import nulls
from restow.kube.objects import OwnerReference, SchedulingGate
from restow.kube.objects.metadata import ABSENT
from restow.kube.objects.unreadable import DECODING_ERRORS

#: Where the API server asks.
PATH: Final = "/admission/steer"


class _Kind(Struct, frozen=True):
    """The kind of object that the question is about."""

    group: str = ""
    kind: str = ""


class _Request(Struct, frozen=True, rename="camel"):
    """The question."""

    uid: str = ""
    kind: _Kind = _Kind()
    operation: str = ""
    sub_resource: str = ""
    object: Raw = ABSENT


class _Question(Struct, frozen=True):
    """An AdmissionReview with a question."""

    request: _Request


class _Metadata(Struct, frozen=True, rename="camel"):
    owner_references: tuple[OwnerReference, ...] = ()


class _Spec(Struct, frozen=True, rename="camel"):
    node_name: str = ""
    scheduling_gates: tuple[SchedulingGate, ...] = ()


class _Pod(Struct, frozen=True):
    """The parts of a pod that the answer depends on."""

    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()


class _Response(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The answer."""

    uid: str
    allowed: Literal[True]
    patch_type: str = ""
    #: A JSON patch (RFC 6902) in base64.
    patch: str = ""


class _Answered(Struct, frozen=True, rename="camel"):
    """An AdmissionReview with an answer."""

    response: _Response
    api_version: str = "admission.k8s.io/v1"
    kind: str = "AdmissionReview"


_question: Final = msgspec.json.Decoder(_Question)
_pod: Final = msgspec.json.Decoder(_Pod)


class Answer(NamedTuple):
    """An AdmissionReview to send."""

    review: bytes
    is_gating: bool


def answer(review: bytes, awaits: Callable[[str], bool]) -> Answer:
    """Admit what an AdmissionReview asks about, gated if it is a new pod of a controller (a uid) that is awaited."""
    try:
        request = nulls.decode(_question, review).request
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
    """The pod that is to be created; None if the question is about anything else or cannot be read."""
    if request.kind != _Kind("", "Pod") or request.operation != "CREATE" or request.sub_resource:
        return None
    try:
        return nulls.decode(_pod, request.object)
    except DECODING_ERRORS:
        return None


def _is_awaited(pod: _Pod, awaits: Callable[[str], bool]) -> bool:
    """Whether a pod is to be gated. One that already has a node is not, because the API server would refuse the gate."""
    owners = pod.metadata.owner_references
    if not can_be_named(owners) or pod.spec.node_name:
        return False
    if any(gate.name == STEERING_GATE for gate in pod.spec.scheduling_gates):
        return False
    return awaits(owners[0].uid)


def _gating(pod: _Pod) -> dict[str, Any]:
    """The JSON patch operation that adds the gate to those that the pod has."""
    gate = {"name": STEERING_GATE}
    if pod.spec.scheduling_gates:
        return {"op": "add", "path": "/spec/schedulingGates/-", "value": gate}
    return {"op": "add", "path": "/spec/schedulingGates", "value": [gate]}


def _written(response: _Response) -> Answer:
    return Answer(msgspec.json.encode(_Answered(response)), bool(response.patch))
