"""What an item of a list says of itself: kind and API version, read once for each distinct beginning.

Kubernetes writes both before the metadata, so 150,000 pods begin with the same few bytes. Only an item that begins
otherwise is searched to its end.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from restow.kube import nulls

#: Bytes in which the metadata of a usual item have begun, however it is indented.
_BEGINNING = 160
_METADATA = b'"metadata"'


class Header(Struct, frozen=True, rename="camel"):
    """The fields that say what an object is."""

    kind: str | None = None
    api_version: str | None = None


class HeaderReader:
    """Reads the headers of the items of one document."""

    def __init__(self) -> None:
        self._decoder = msgspec.json.Decoder(Header)
        self._known: dict[bytes, Header] = {}

    def read(self, item: Raw) -> Header:
        """The header of an item; msgspec.MsgspecError where it is no object or has a field of a wrong type."""
        beginning, metadata, _ = bytes(memoryview(item)[:_BEGINNING]).partition(_METADATA)
        if not metadata:
            return nulls.decode(self._decoder, item)
        known = self._known.get(beginning)
        if known is None:
            known = self._known[beginning] = self._complete(beginning)
        return known if known.kind and known.api_version else nulls.decode(self._decoder, item)

    def _complete(self, beginning: bytes) -> Header:
        """The header, if all of it stands before the metadata."""
        try:
            return self._decoder.decode(beginning.rstrip(b", \t\r\n") + b"}")
        except msgspec.MsgspecError:
            return Header()
