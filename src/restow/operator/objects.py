"""Objects as plain data: what those have in common that an operator makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from restow.operator.resource import API_VERSION, KIND, KubeDescheduler

Object = dict[str, Any]

#: On every object, so that what an operator made can be found; owners in a namespace cannot own what is in none.
LABELS: Final = {"app.kubernetes.io/name": "descheduler", "app.kubernetes.io/managed-by": "restow-operator"}


@dataclass(slots=True, frozen=True)
class Place:
    """Where objects go and whose they are: ``owner`` goes with the resource when it is deleted."""

    namespace: str
    owner: KubeDescheduler


def in_namespace(
    place: Place, api_version: str, kind: str, name: str, *, labels: Object | None = None,
    annotations: Object | None = None, **rest: Any,
) -> Object:  # fmt: skip
    """Return an object beside the resource, and owned by it where the API server has given it a uid."""
    metadata: Object = {"name": name, "namespace": place.namespace, "labels": {**LABELS, **(labels or {})}}
    if annotations:
        metadata["annotations"] = annotations
    if place.owner.metadata.uid:
        metadata["ownerReferences"] = [_owner(place.owner)]
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def in_cluster(api_version: str, kind: str, name: str, **rest: Any) -> Object:
    """Return an object that belongs to no namespace."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": dict(LABELS)}, **rest}


def _owner(owner: KubeDescheduler) -> Object:
    metadata = owner.metadata
    return {"apiVersion": API_VERSION, "kind": KIND, "name": metadata.name, "uid": metadata.uid}
