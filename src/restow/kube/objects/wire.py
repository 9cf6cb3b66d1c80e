"""How values stand on the wire: quantities, integers, and parts that are decoded later."""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from restow.kube import nulls

#: A quantity as the API may write it; ``kube.quantity.parse_quantity`` makes it exact.
WireQuantity = str | int | float

#: The API's integers; a larger number is an error that names its field.
Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1, extra={"go": "int32"})]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1, extra={"go": "int64"})]

T = TypeVar("T")

#: What an absent Raw field holds.
ABSENT = Raw()


class Present(Struct, frozen=True, gc=False):
    """An object of which only the presence matters (``emptyDir: {}``)."""


def decode_part(raw: bytes, part: type[T], default: T) -> T:
    """Decode one raw part of a pod; absent, empty and ``null`` give ``default``.

    Raises msgspec.MsgspecError with the path inside the part.
    """
    if not raw or raw == b"null":
        return default
    return nulls.decode(msgspec.json.Decoder(part), raw)
