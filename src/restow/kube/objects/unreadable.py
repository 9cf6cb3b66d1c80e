"""Objects that cannot be decoded: what they are called, and why."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

from restow.kube import nulls

T = TypeVar("T")

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
        return nulls.decode(decoder, data)
    except DECODING_ERRORS as error:
        name = name_of(data)
        if name is None:
            raise
        return Unreadable(name, path_first(error))


def name_of(data: Any) -> ObjectName | None:
    """The name of an object; None where not even that can be read."""
    try:
        meta = nulls.decode(_named, data).metadata
    except DECODING_ERRORS:
        return None
    return meta if meta.name else None


def path_first(error: Exception) -> str:
    """The decoder's message with the path first: ``spec.priority: Expected `int`, got `str```."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    what, _, path = str(error).partition(" - at `$.")
    return f"{path.rstrip('`')}: {what}" if path else what
