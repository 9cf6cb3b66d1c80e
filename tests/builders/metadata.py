"""Metadata that every built object has: names, uids, owners, times."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

#: A plain API object, as JSON would decode it.
Object = dict[str, Any]

#: The clock of the tests.
NOW = "2026-01-01T00:00:00Z"

API_VERSIONS = {
    "ReplicaSet": "apps/v1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}


class Owner(NamedTuple):
    """An owner reference; ``uid`` None means the uid that the builder of that object would give it."""

    kind: str
    name: str = ""
    uid: str | None = None


def uid_of(kind: str, namespace: str, name: str) -> str:
    """The uid of a built object: unique for kind, namespace and name, the same in every run."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}/{namespace}/{name}"))


def ago(seconds: float) -> str:
    """RFC3339 time of ``seconds`` before NOW (negative: after it), with a fraction only where there is one."""
    at = datetime.fromisoformat(NOW).astimezone(UTC) - timedelta(seconds=seconds)
    return at.replace(tzinfo=None).isoformat() + "Z"


def present(**fields: Any) -> Object:
    """The fields that are not None: what the API would write."""
    return {name: value for name, value in fields.items() if value is not None}


def metadata(
    kind: str,
    name: str,
    namespace: str = "",
    *,
    labels: Object | None = None,
    annotations: Object | None = None,
    created: str | None = None,
    deleted: str | None = None,
    owners: list[tuple[str, ...]] | None = None,
    uid: str | None = None,
) -> Object:
    """``metadata`` of an object; the uid is made from kind, namespace and name unless given."""
    return present(
        name=name,
        namespace=namespace or None,
        uid=uid_of(kind, namespace, name) if uid is None else uid,
        labels=labels,
        annotations=annotations,
        creationTimestamp=created,
        deletionTimestamp=deleted,
        ownerReferences=[owner_reference(Owner(*owner), namespace) for owner in owners] if owners else None,
    )


def owner_reference(owner: Owner, namespace: str) -> Object:
    """One entry of ``ownerReferences``."""
    uid = uid_of(owner.kind, namespace, owner.name) if owner.uid is None else owner.uid
    return {
        "apiVersion": API_VERSIONS.get(owner.kind, "v1"),
        "kind": owner.kind,
        "name": owner.name,
        "uid": uid,
        "controller": True,
    }


def a_list(*objects: Object) -> Object:
    """A v1 List, as ``kubectl get -o json`` prints it."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(objects)}
