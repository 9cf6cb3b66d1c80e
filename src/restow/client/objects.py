"""One object: get it, create it, replace it, patch it."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeVar

import msgspec

from restow.client.permitted_body import Permit
from restow.client.resources import Resource
from restow.client.transport import Api, Call, decoded
from restow.kube import nulls

T = TypeVar("T")

#: Who owns the fields that server-side apply sets.
_FIELD_MANAGER = "restow"


class PatchKind(Enum):
    """How a patch is laid over an object; the value is its content type."""

    #: RFC 7386: members replace members, null removes.
    MERGE = "application/merge-patch+json"
    #: Kubernetes' own: lists are merged by their keys.
    STRATEGIC = "application/strategic-merge-patch+json"
    #: RFC 6902: operations one after the other, all or none.
    JSON = "application/json-patch+json"
    #: Server-side apply: the fields of the patch are ours, whoever had them.
    APPLY = "application/apply-patch+yaml"


async def get(api: Api, resource: Resource, namespace: str, name: str, type: type[T]) -> T:
    """The object; NotFound if there is none."""
    decoder = msgspec.json.Decoder(type)
    return await api.read(resource.path(namespace, name), {}, lambda body: nulls.decode(decoder, body))


async def find(api: Api, resource: Resource, namespace: str, name: str) -> None:
    """See that there is an object, whatever it holds; NotFound if there is none."""
    await api.read(resource.path(namespace, name), {}, lambda _: None)


async def create(api: Api, resource: Resource, namespace: str, value: T, *, permit: Permit | None = None) -> T:
    """The object as the server has made it; Conflict if there is one of that name."""
    call = Call("POST", resource.path(namespace), body=msgspec.json.encode(value))
    return _answer(await api.send(call, permit=permit), value, call)


async def replace(
    api: Api, resource: Resource, namespace: str, name: str, value: T, *, permit: Permit | None = None
) -> T:
    """The object after the replacement; Conflict if ``value`` has a resource version and another one is newer."""
    call = Call("PUT", resource.path(namespace, name), body=msgspec.json.encode(value))
    return _answer(await api.send(call, permit=permit), value, call)


async def patch(
    api: Api,
    resource: Resource,
    namespace: str,
    name: str,
    change: Any,
    *,
    kind: PatchKind,
    subresource: str = "",
    permit: Permit | None = None,
    dry_run: bool = False,
) -> None:
    """Change an object; a patch with ``metadata.resourceVersion`` or ``uid`` raises Conflict where these differ."""
    params = {"dryRun": "All"} if dry_run else {}
    if kind is PatchKind.APPLY:
        params |= {"fieldManager": _FIELD_MANAGER, "force": "true"}
    path = resource.path(namespace, name, subresource)
    await api.send(Call("PATCH", path, params, msgspec.json.encode(change), kind.value), permit=permit)


def _answer(body: bytes, like: T, call: Call) -> T:
    """The object that the server sends back, of the same type as the one that was sent."""
    decoder = msgspec.json.Decoder(type(like))
    return decoded(body, lambda text: nulls.decode(decoder, text), call)
