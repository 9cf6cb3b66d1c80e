"""Whole objects: everything that controllers read and write, for a simulated API server and its controllers.

``kube.objects`` has of each kind what decisions read, because a dump may hold 150,000 pods. Here an object can be made
from a template, changed and written again, so it carries all of its spec: what no rule reads stays as JSON. Every kind
is a frozen ``msgspec.Struct`` whose class has the kind's name; defaults are those of the API server. JSON inside of an
object is never changed in place.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, get_args

import msgspec

from restow.kube import decoding
from restow.kube.manifests.cluster_objects import (
    Json,
    Metadata,
    Namespace,
    Node,
    Other,
    Pod,
    PodDisruptionBudget,
    PodTemplate,
    PriorityClass,
)
from restow.kube.manifests.workloads import (
    ControllerRevision,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from restow.kube.objects import API_VERSIONS, known_kind, written_kind

#: Any object.
Manifest = (
    ControllerRevision
    | CronJob
    | DaemonSet
    | Deployment
    | Job
    | Namespace
    | Node
    | Other
    | Pod
    | PodDisruptionBudget
    | PriorityClass
    | ReplicaSet
    | ReplicationController
    | StatefulSet
)

__all__ = [
    "ControllerRevision",
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "Json",
    "Manifest",
    "Metadata",
    "Namespace",
    "Node",
    "Other",
    "Pod",
    "PodDisruptionBudget",
    "PodTemplate",
    "PriorityClass",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
    "document_of",
    "kind_of",
    "manifest_of",
]


#: The kinds whose content is read; any other kind is ``Other``.
_READ: Final = {each.__name__: each for each in get_args(Manifest) if each is not Other}


def kind_of(manifest: Manifest) -> str:
    """The kind of an object, as ``KINDS`` has it."""
    return manifest.kind if isinstance(manifest, Other) else type(manifest).__name__


def manifest_of(document: Json) -> Manifest:
    """The object of a document in a current API version.

    Raises msgspec.ValidationError with the path of a field that has a wrong type.
    """
    kind = document.get("kind", "")
    if kind in _READ:
        read: Manifest = decoding.decode(_decoder(kind), msgspec.json.encode(document))
        return read
    metadata = decoding.decode(msgspec.json.Decoder(Metadata), msgspec.json.encode(document.get("metadata") or {}))
    content = {name: value for name, value in document.items() if name not in ("kind", "metadata")}
    return Other(known_kind(kind, str(document.get("apiVersion", ""))), metadata, content)


def document_of(manifest: Manifest) -> dict[str, Any]:
    """The document of an object: what the API server would answer."""
    if isinstance(manifest, Other):
        metadata = msgspec.to_builtins(manifest.metadata)
        return {"apiVersion": "v1", "kind": written_kind(manifest.kind), "metadata": metadata} | manifest.content
    kind = kind_of(manifest)
    written: dict[str, Any] = msgspec.to_builtins(manifest)
    return {"apiVersion": API_VERSIONS[kind], "kind": kind} | written


@cache
def _decoder(kind: str) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(_READ[kind])
