"""From JSON documents to whole objects, and back."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

from restow.kube import manifests, nulls
from restow.kube.manifests.metadata import Json, Metadata

#: The kinds that controllers read, with the API version in which they are read and written.
API_VERSIONS: Final = {
    "ControllerRevision": "apps/v1",
    "CronJob": "batch/v1",
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "Job": "batch/v1",
    "Namespace": "v1",
    "Node": "v1",
    "Pod": "v1",
    "PodDisruptionBudget": "policy/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "ReplicaSet": "apps/v1",
    "ReplicationController": "v1",
    "StatefulSet": "apps/v1",
}


def kind_of(manifest: manifests.Manifest) -> str:
    """The kind of an object."""
    return manifest.kind if isinstance(manifest, manifests.Other) else type(manifest).__name__


def manifest_of(document: Json) -> manifests.Manifest:
    """The object of a document in a current API version.

    Raises msgspec.ValidationError with the path of a field that has a wrong type.
    """
    kind = document.get("kind", "")
    if kind in API_VERSIONS:
        read: manifests.Manifest = nulls.decode(_decoder(kind), msgspec.json.encode(document))
        return read
    metadata = nulls.decode(msgspec.json.Decoder(Metadata), msgspec.json.encode(document.get("metadata") or {}))
    content = {name: value for name, value in document.items() if name not in ("kind", "metadata")}
    return manifests.Other(kind, metadata, content)


def document_of(manifest: manifests.Manifest) -> dict[str, Any]:
    """The document of an object: what the API server would answer."""
    if isinstance(manifest, manifests.Other):
        metadata = msgspec.to_builtins(manifest.metadata)
        return {"apiVersion": "v1", "kind": manifest.kind, "metadata": metadata} | manifest.content
    kind = kind_of(manifest)
    written: dict[str, Any] = msgspec.to_builtins(manifest)
    return {"apiVersion": API_VERSIONS[kind], "kind": kind} | written


@cache
def _decoder(kind: str) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(getattr(manifests, kind))
