"""Requests about one object: get, create, replace, patch, apply and delete it, or change one taint among others."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from restow.client.errors import BadRequest, Conflict
from restow.client.resources import ApiResource
from restow.client.transport import Api, Call, Permit, decoded
from restow.errors import ClientError
from restow.kube import decoding

T = TypeVar("T")

#: The content type of server-side apply. JSON is YAML.
_APPLY: Final = "application/apply-patch+yaml"

_TAINTS: Final = "/spec/taints"
#: The API server's message for a JSON patch whose test fails, or whose path does not exist.
_DOES_NOT_FIT: Final = "the server rejected our request due to an error in our request"
#: Of a patch that names the uid of an object which had the name before.
_OTHER_UID: Final = "metadata.uid: Invalid value"


class ObjectRef(Struct, frozen=True):
    """An object as it was when something was decided about it."""

    #: Empty for an object without one.
    namespace: str
    name: str
    uid: str
    #: Empty where a later version will do as well.
    resource_version: str = ""

    @property
    def preconditions(self) -> dict[str, str]:
        """What a request names so that it fails for any other object, or any other version."""
        versions = {"resourceVersion": self.resource_version} if self.resource_version else {}
        return {"uid": self.uid, **versions}


class PatchKind(Enum):
    """How a patch is laid over an object; the value is its content type."""

    #: RFC 7386: members replace members, null removes.
    MERGE = "application/merge-patch+json"
    #: Kubernetes' own: lists are merged by their keys.
    STRATEGIC = "application/strategic-merge-patch+json"
    #: RFC 6902: operations one after the other, all or none.
    JSON = "application/json-patch+json"


async def get(api: Api, resource: ApiResource, namespace: str, name: str, type: type[T]) -> T:
    """The object; NotFound if there is none."""
    decoder = msgspec.json.Decoder(type)
    return await api.read(resource.path(namespace, name), {}, lambda body: decoding.decode(decoder, body))


async def find(api: Api, resource: ApiResource, namespace: str, name: str) -> None:
    """Check that an object exists; NotFound if not."""
    await api.read(resource.path(namespace, name), {}, lambda _: None)


async def create(api: Api, resource: ApiResource, namespace: str, value: T, *, permit: Permit | None = None) -> T:
    """The object as the server has made it; Conflict if there is one of that name."""
    call = Call("POST", resource.path(namespace), body=msgspec.json.encode(value))
    return _answer(await api.send(call, permit=permit), value, call)


async def replace(
    api: Api,
    resource: ApiResource,
    namespace: str,
    name: str,
    value: T,
    *,
    manager: str = "",
    permit: Permit | None = None,
) -> T:
    """The object after the replacement; Conflict if ``value`` has a resource version and another one is newer.

    Fields that change belong to ``manager``, by default the API server's name for this program.
    """
    params = {"fieldManager": manager} if manager else {}
    call = Call("PUT", resource.path(namespace, name), params, msgspec.json.encode(value))
    return _answer(await api.send(call, permit=permit), value, call)


async def patch(
    api: Api,
    resource: ApiResource,
    namespace: str,
    name: str,
    change: Any,
    *,
    kind: PatchKind,
    subresource: str = "",
    permit: Permit | None = None,
    dry_run: bool = False,
) -> bytes:
    """The object after a change; a patch with ``metadata.resourceVersion`` or ``uid`` raises Conflict where these differ."""
    params = {"dryRun": "All"} if dry_run else {}
    path = resource.path(namespace, name, subresource)
    try:
        return await api.send(Call("PATCH", path, params, msgspec.json.encode(change), kind.value), permit=permit)
    except BadRequest as error:
        if _OTHER_UID in error.answer:
            raise Conflict(error.status, error.reason, error.answer) from error
        raise


async def apply(
    api: Api,
    resource: ApiResource,
    namespace: str,
    name: str,
    value: T,
    *,
    manager: str,
    force: bool = False,
    subresource: str = "",
    permit: Permit | None = None,
) -> T:
    """The object after a server-side apply, created if there was none.

    The fields of ``value`` become the manager's, and fields that it applied before and leaves out now are removed.
    Conflict where another manager has one of the fields with another value; ``force`` takes it over instead.
    """
    params = {"fieldManager": manager, "force": str(force).lower()}
    path = resource.path(namespace, name, subresource)
    call = Call("PATCH", path, params, msgspec.json.encode(value), _APPLY)
    return _answer(await api.send(call, permit=permit), value, call)


async def delete(
    api: Api,
    resource: ApiResource,
    namespace: str,
    name: str,
    *,
    uid: str = "",
    version: str = "",
    permit: Permit | None = None,
) -> None:
    """Ask for an object to be deleted, and what it owns after it; NotFound, or Conflict if its uid or version is another."""
    wanted = {"uid": uid, "resourceVersion": version}
    preconditions = {key: value for key, value in wanted.items() if value}
    options = {"propagationPolicy": "Background"} | ({"preconditions": preconditions} if preconditions else {})
    call = Call("DELETE", resource.path(namespace, name), body=msgspec.json.encode(options))
    await api.send(call, permit=permit)


def _answer(body: bytes, like: T, call: Call) -> T:
    """The object that the server sends back, of the same type as the one that was sent."""
    decoder = msgspec.json.Decoder(type(like))
    return decoded(body, lambda text: decoding.decode(decoder, text), call)


# The list of taints is atomic for every other kind of patch, server-side apply included: to write one
# taint is to write all. A JSON patch adds one at the end, or removes the one at a place after it has tested which one
# that is. Source: the OpenAPI of Kubernetes 1.36, NodeSpec.taints.
def adding_taint(taint: Mapping[str, str], *, is_tainted: bool) -> list[dict[str, Any]]:
    """Return the patch that adds a taint; BadRequest where the node has taints and ``is_tainted`` says that it has none."""
    if is_tainted:
        return [{"op": "add", "path": f"{_TAINTS}/-", "value": taint}]
    return [{"op": "test", "path": _TAINTS, "value": None}, {"op": "add", "path": _TAINTS, "value": [taint]}]


def removing_taint(place: int, known: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the patch that removes the taint at a place; BadRequest where its fields are not the ``known`` ones."""
    path = f"{_TAINTS}/{place}"
    tests = [{"op": "test", "path": f"{path}/{field}", "value": value} for field, value in known.items()]
    return [*tests, {"op": "remove", "path": path}]


def is_outdated(error: ClientError) -> bool:
    """Whether a JSON patch does not fit the object any more; an admission policy that forbids it answers in other words."""
    return isinstance(error, Conflict) or (isinstance(error, BadRequest) and error.answer == _DOES_NOT_FIT)
