"""``null`` members of JSON objects.

To the decoder of Kubernetes a ``null`` member of any type is as good as absent. Dumps hold hardly any where a struct
has a plain type, so the nulls are taken out only when decoding fails because of one.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Raw

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
