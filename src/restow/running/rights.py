"""Whether restow has a right. The API server is asked for it and the right not tried, so that it has nothing to refuse."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec import Struct

from restow.client import objects
from restow.client.resources import ACCESS_REVIEWS, Resource
from restow.client.transport import Api


class Right(NamedTuple):
    """A verb for objects of a kind, or for the one of a name."""

    resource: Resource
    name: str
    subresource: str
    verb: str

    @property
    def is_of_namespace(self) -> bool:
        """Whether it is about one object of a namespace."""
        return bool(self.name) and self.resource.namespaced

    def lacking(self, namespace: str) -> str:
        """A sentence with the rule that grants it, in a namespace where it is about one object there."""
        where = f" in the namespace {namespace}" if self.is_of_namespace else ""
        return f"restow's roles lack the rule {self.resource.rule((self.verb,), self.subresource)}{where}"


class _Review(Struct, frozen=True, rename="camel"):
    """A SelfSubjectAccessReview, there and back."""

    spec: dict[str, Any]
    status: dict[str, Any] | None = None
    api_version: str = "authorization.k8s.io/v1"
    kind: str = "SelfSubjectAccessReview"


async def first_lacking(api: Api, namespace: str, rights: Iterable[Right]) -> str | None:
    """A sentence about the first of some rights that restow does not have; None if it has all; ClientError."""
    for right in rights:
        if not await may(api, namespace, right):
            return right.lacking(namespace)
    return None


async def may(api: Api, namespace: str, right: Right) -> bool:
    """Whether restow has a right, in a namespace where it is about one object of a namespace; ClientError."""
    resource, name, subresource, verb = right
    asked = {
        "group": resource.group,
        "resource": resource.plural,
        "subresource": subresource,
        "name": name,
        "verb": verb,
    }
    where = {"namespace": namespace} if right.is_of_namespace else {}
    review = await objects.create(api, ACCESS_REVIEWS, "", _Review({"resourceAttributes": asked | where}))
    return bool((review.status or {}).get("allowed"))
