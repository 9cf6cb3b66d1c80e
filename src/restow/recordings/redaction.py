"""What of an object is recorded: the fields that decisions and controllers read, and nothing else.

A field is kept because a struct has it: one of ``kube.objects`` (what decisions read) or of ``kube.manifests`` (what simulated
controllers read). Environment variables, commands, probes and secrets are in none of these; of annotations those stay that
restow or a controller reads. A rollout that changes nothing else would not be seen in what is left, so a template also gets a
digest of all of it. The key of these digests stays with who records: without it, what was left out cannot be guessed.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from msgspec import inspect

from restow.errors import InputError
from restow.kube import manifests
from restow.kube.objects import API_VERSIONS, KINDS, written_kind
from restow.kube.objects.workloads import PodTemplate

#: The annotation of a template that holds the digest of all of it.
TEMPLATE_DIGEST: Final = "record.restow.dev/template"
#: The beginnings of annotations that are kept although no struct names them.
_KEPT_ANNOTATIONS: Final = (
    "restow.dev/",
    "simulate.restow.dev/",
    "record.restow.dev/",
    "batch.kubernetes.io/",
    "deployment.kubernetes.io/",
    "controller.kubernetes.io/",
)
_KEY_FILE: Final = "digest.key"
_KEY_BYTES: Final = 32
#: Changes with every change.
_UNREAD: Final = ("resourceVersion",)
#: What controllers read of pods that no struct has.
_MORE: Final[dict[str, Any]] = {"Pod": {"spec": {"restartPolicy": True}}}

#: True is all of a value; a mapping is those fields of an object, or of each object in a list.
_Fields = bool | dict[str, Any]


@dataclass(slots=True, frozen=True)
class Redactor:
    """Makes of an object what is recorded of it."""

    #: Of the digests.
    key: bytes

    def redacted(self, kind: str, data: bytes) -> dict[str, Any]:
        """Return what is recorded of an object of one of ``KINDS``; msgspec.MsgspecError for what is no object."""
        document = msgspec.json.decode(data, type=dict[str, Any])
        kept = cast("dict[str, Any]", _kept(document, recorded_fields(kind)))
        self._mark_templates(document, kept)
        return {"apiVersion": API_VERSIONS[kind], "kind": written_kind(kind)} | kept

    def _mark_templates(self, document: Any, kept: Any) -> None:
        """Add the digest of each template in an object, wherever it is."""
        for name, value in document.items():
            if not isinstance(value, dict) or name not in kept:
                continue
            if name == "template" and "spec" in value:
                metadata = kept[name].setdefault("metadata", {})
                metadata.setdefault("annotations", {})[TEMPLATE_DIGEST] = self._digest(value)
            elif isinstance(kept[name], dict):
                self._mark_templates(value, kept[name])

    def _digest(self, template: dict[str, Any]) -> str:
        # Labels are kept, and those of a ReplicaSet's template have the hash in addition.
        metadata = template.get("metadata")
        whole = template.get("spec"), metadata.get("annotations") if isinstance(metadata, dict) else None
        return hmac.digest(self.key, msgspec.json.encode(whole, order="sorted"), "sha256").hex()[:16]


def redactor(directory: Path) -> Redactor:
    """Return the redactor of a recording, whose key lies beside it; InputError where it can be neither read nor made."""
    file = directory / _KEY_FILE
    try:
        if not file.exists():
            file.touch(mode=0o600)
            file.write_text(secrets.token_hex(_KEY_BYTES))
        return Redactor(bytes.fromhex(file.read_text().strip()))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: {error}; it holds the key of the digests of this recording") from error


@cache
def recorded_fields(kind: str) -> _Fields:
    """Return which fields of a kind are recorded."""
    whole = getattr(manifests, kind, None)
    found = _fields_of(inspect.type_info(KINDS[kind]))
    if whole is not None:
        found = _union(found, _fields_of(inspect.type_info(whole)))
    return _union(found, _MORE.get(kind, {}))


def _fields_of(found: inspect.Type) -> _Fields:
    """Which fields a type has; all of what has no fields."""
    if isinstance(found, inspect.StructType):
        if found.cls is manifests.PodTemplate:
            return _union(_fields_of(inspect.type_info(PodTemplate)), {"spec": {"restartPolicy": True}})
        return {each.encode_name: _fields_of(each.type) for each in found.fields if each.encode_name not in _UNREAD}
    if isinstance(found, inspect.UnionType):
        return next((each for each in map(_fields_of, found.types) if isinstance(each, dict)), True)
    if isinstance(found, (inspect.VarTupleType, inspect.ListType)):
        return _fields_of(found.item_type)
    return True


def _union(one: _Fields, other: _Fields) -> _Fields:
    """The fields of both. What only one of them knows the fields of has these only."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return one if isinstance(one, dict) else other
    return {name: _union(one.get(name, True), other.get(name, True)) for name in one | other}


def _kept(value: Any, fields: _Fields) -> Any:
    if isinstance(value, list):
        return [_kept(each, fields) for each in value]
    if fields is True or not isinstance(value, dict):
        return value
    known = cast("dict[str, Any]", fields)
    return {
        name: _kept_annotations(each, known[name]) if name == "annotations" else _kept(each, known[name])
        for name, each in value.items()
        if name in known and each is not None
    }


def _kept_annotations(value: Any, fields: _Fields) -> Any:
    if not isinstance(value, dict):
        return value
    known = fields if isinstance(fields, dict) else {}
    return {name: each for name, each in value.items() if name in known or name.startswith(_KEPT_ANNOTATIONS)}
