"""JSON objects to structs, as leniently as Kubernetes decodes: a ``null`` is as good as absent.

Dumps hold hardly any null where a struct has a plain type, so the nulls are taken out only when decoding fails because
of one. Of an object that cannot be decoded at all, what remains is its name and why (``Unreadable``).
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

T = TypeVar("T")


def decode(decoder: msgspec.json.Decoder[T], data: bytes | memoryview | Raw) -> T:
    """The decoded value, with null members as good as absent.

    Raises msgspec.MsgspecError with the path of the field that has a wrong type, or for a text that nests too deeply.
    """
    try:
        return _decoded(decoder, data)
    except RecursionError as error:
        raise msgspec.ValidationError("nested too deeply; no Kubernetes object is") from error


def _decoded(decoder: msgspec.json.Decoder[T], data: bytes | memoryview | Raw) -> T:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        return decoder.decode(msgspec.json.encode(_without_nulls(msgspec.json.decode(data))))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


#: What decoding raises: a wrong type, bytes that are no text, a bottomless nest.
DECODING_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class ObjectName(Struct, frozen=True, gc=False):
    """The part of an object's metadata that names it."""

    name: str = ""
    namespace: str = ""


class Unreadable(Struct, frozen=True, gc=False):
    """An object in the place of which only its name is known."""

    metadata: ObjectName
    why: str


class _Named(Struct, frozen=True, gc=False):
    metadata: ObjectName = ObjectName()


_named = msgspec.json.Decoder(_Named)


def decode_or_name(decoder: msgspec.json.Decoder[T], data: bytes | memoryview | Raw) -> T | Unreadable:
    """The object, or its name where it cannot be decoded; the decoder's error where it has no name either."""
    try:
        return decode(decoder, data)
    except DECODING_ERRORS as error:
        name = name_of(data)
        if name is None:
            raise
        return Unreadable(name, path_first(error))


def name_of(data: Any) -> ObjectName | None:
    """The name of an object; None where not even that can be read."""
    try:
        meta = decode(_named, data).metadata
    except DECODING_ERRORS:
        return None
    return meta if meta.name else None


def path_first(error: Exception) -> str:
    """The decoder's message with the path first: ``spec.priority: Expected `int`, got `str```."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    what, _, path = str(error).partition(" - at `$.")
    return f"{path.rstrip('`')}: {what}" if path else what
