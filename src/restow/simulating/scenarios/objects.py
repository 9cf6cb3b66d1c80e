"""Objects that a scenario brings: manifests of any version, as the whole objects that a simulation keeps.

Schedulers and deschedulers read an object in the middle of a run as they read one of a dump. So it is read that way once
before, and so is a pod of each template.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from restow.cluster.snapshot import ClusterStore
from restow.errors import InputError, OutOfRangeError
from restow.kube import nulls
from restow.kube.excerpts import excerpt, title
from restow.kube.kinds import API_VERSIONS, GROUPS, KINDS
from restow.kube.manifests import CronJob, Manifest
from restow.kube.manifests.documents import document_of, kind_of, manifest_of
from restow.kube.objects.unreadable import path_first
from restow.kube.old_versions import CONVERSIONS, conversion_note, convert

_POLICY = "DeschedulerPolicy"


@dataclass(slots=True, frozen=True)
class ReadObject:
    """An object, and a message for its author; empty if there is none."""

    manifest: Manifest
    note: str = ""


def read_object(data: Mapping[str, Any], readable: ClusterStore) -> ReadObject:
    """Return the object of a manifest, one of an old API version as it was meant; ValueError says what is wrong.

    ``readable`` takes what can be read; a store that has seen objects alike is quick with another one.
    """
    version, kind = (_text(data, key) for key in ("apiVersion", "kind"))
    name = _name(data, kind)
    old = CONVERSIONS.get((version, kind))
    if old is None:
        _check_group(version, kind, name)
        return ReadObject(_decoded(dict(data), name, readable))
    converted = convert(data, old)
    note = conversion_note(version, converted) if converted.changes else ""
    return ReadObject(_decoded(converted.manifest, name, readable), note)


def _text(data: Mapping[str, Any], key: str) -> str:
    found = data.get(key)
    if not isinstance(found, str) or not found:
        raise ValueError(f"an object without {key}; write apiVersion, kind and metadata.name")
    return found


def _name(data: Mapping[str, Any], kind: str) -> str:
    metadata = data.get("metadata")
    meta = metadata if isinstance(metadata, dict) else {}
    if not any(isinstance(meta.get(key), str) and meta[key] for key in ("name", "generateName")):
        hint = "; name a policy with --policy-config-file" if kind == _POLICY else ""
        raise ValueError(f"a {excerpt(kind)} without metadata.name{hint}")
    return title(excerpt(kind), str(meta.get("namespace") or ""), str(meta.get("name") or meta.get("generateName")))


def _check_group(version: str, kind: str, name: str) -> None:
    if kind in GROUPS and version.rpartition("/")[0] != GROUPS[kind]:
        raise ValueError(f"{name}: apiVersion {excerpt(version)} is unknown; write {API_VERSIONS[kind]}")


def _decoded(document: dict[str, Any], name: str, readable: ClusterStore) -> Manifest:
    try:
        manifest = manifest_of(document)
        _take(manifest, readable)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"{name}: {path_first(error)}") from error
    except (InputError, OutOfRangeError) as error:
        raise ValueError(str(error) if str(error).startswith(name) else f"{name}: {error}") from error
    return manifest


def _take(manifest: Manifest, readable: ClusterStore) -> None:
    """Try to create an object, and a pod from its template, in a store; raises what is wrong with them."""
    kind = kind_of(manifest)
    if kind in KINDS:
        _read(kind, document_of(manifest), readable)
    spec = manifest.spec.job_template.spec if isinstance(manifest, CronJob) else getattr(manifest, "spec", None)
    template = getattr(spec, "template", None)
    if template is not None:
        metadata = {**msgspec.to_builtins(template.metadata), "name": "of the template"}
        _read("Pod", {"metadata": metadata, "spec": template.spec}, readable)


def _read(kind: str, document: dict[str, Any], readable: ClusterStore) -> None:
    readable.add(kind, [nulls.decode(msgspec.json.Decoder(KINDS[kind]), msgspec.json.encode(document))])
