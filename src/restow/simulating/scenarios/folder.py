"""What a scenario brings along: files, by paths that begin in the folder where it lies, and the objects in them.

Manifests of any version become the whole objects that a simulation keeps. Schedulers and deschedulers read an object in
the middle of a run as they read one of a dump; so it is read that way once before, and so is a pod of each template.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from restow.cluster.snapshot import ClusterStore
from restow.configuration_files import read_small_file
from restow.descheduling.registry import plugins
from restow.errors import InputError, OutOfRangeError
from restow.kube import decoding
from restow.kube.decoding import path_first
from restow.kube.excerpts import excerpt, title
from restow.kube.manifests import CronJob, Manifest, document_of, kind_of, manifest_of
from restow.kube.objects import API_VERSIONS, GROUPS, KINDS, known_kind
from restow.kube.old_versions import CONVERSIONS, conversion_note, convert
from restow.policies.load import LoadedPolicy, load_policy
from restow.scheduling.configuration.load import SchedulerConfiguration, load_scheduler_configuration
from restow.sources.reading import Sizes, read_manifests, read_text
from restow.usage.sources import usage_schemas


@dataclass(slots=True, frozen=True)
class Folder:
    """Where a scenario lies; each function raises InputError for a file that cannot be read or used."""

    path: Path
    #: What the files may take together.
    sizes: Sizes = field(default_factory=Sizes)
    #: The paths of all files and directories that were read, in their order.
    read: dict[str, None] = field(default_factory=dict)

    def place(self, name: str) -> str:
        """Return the path of a file that the scenario names."""
        return str(self.path / name)

    def _read(self, name: str) -> str:
        place = self.place(name)
        self.read[place] = None
        return place

    def manifests(self, name: str) -> list[dict[str, Any]]:
        """Return the objects of a file or a directory."""
        return read_manifests(self._read(name), self.sizes)

    def text(self, name: str) -> str:
        """Return the text of a CSV file."""
        return bytes(read_text(self._read(name), self.sizes)).decode()

    def policy(self, name: str) -> LoadedPolicy:
        """Return a policy."""
        return load_policy(self._configuration(name), self.place(name), plugins(), usage_schemas())

    def scheduler(self, name: str) -> SchedulerConfiguration:
        """Return the configuration of a scheduler."""
        return load_scheduler_configuration(self._configuration(name), self.place(name))

    def _configuration(self, name: str) -> bytes:
        try:
            return read_small_file(self._read(name))
        except OSError as error:
            raise InputError(f"{self.place(name)}: {error.strerror or error}") from error


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
    if kind in GROUPS and version.rpartition("/")[0] != GROUPS[known_kind(kind, version)]:
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
    readable.add(kind, [decoding.decode(msgspec.json.Decoder(KINDS[kind]), msgspec.json.encode(document))])
