"""Objects as one JSON List, written as they come: memory does not grow with the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

    from restow.sources.synthetic.names import Object

#: Bytes that are collected before they are written.
CHUNK = 1 << 20


def write_list(objects: Iterable[Object], stream: BinaryIO) -> None:
    """Write a v1 List, one object a line, without ever holding more than a chunk of it."""
    encoder = msgspec.json.Encoder()
    pending = bytearray(b'{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":""},"items":[')
    separator = b"\n"
    for item in objects:
        pending += separator
        pending += encoder.encode(item)
        separator = b",\n"
        if len(pending) >= CHUNK:
            stream.write(pending)
            pending.clear()
    stream.write(pending + b"\n]}\n")
