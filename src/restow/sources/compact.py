"""A cluster as one compact file: of every object only the fields that restow reads.

Objects are collected as small JSON texts, by kind and key, and written as one List in canonical order: the same cluster
gives the same bytes, however it was read. What restow does not read - environment variables, commands, annotations,
secrets - is not in the structs that objects are decoded to, so it cannot get into the file.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, BinaryIO

import msgspec
from msgspec import NODEFAULT, Raw, Struct

from restow.cluster.left_out import ObjectKey, stand_in
from restow.cluster.snapshot import Key
from restow.kube.objects import API_VERSIONS, KINDS, written_kind

#: Texts that pods share (labels, tolerations, resources...) whose short forms are remembered.
_REMEMBERED = 1 << 14

_encode = msgspec.json.Encoder().encode


class CompactCluster:
    """Objects by kind and key, each as a JSON text of the fields that are read."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[Key, bytes]] = {}
        #: The objects that cannot be read, and why.
        self.left_out: dict[ObjectKey, str] = {}

    def add(self, kind: str, wire: Sequence[Any]) -> None:
        """Add objects of one of ``KINDS``; the last with a key counts. Objects do not name their kind."""
        head = {"apiVersion": API_VERSIONS[kind], "kind": written_kind(kind)}
        given = {(each.metadata.namespace, each.metadata.name): _encode(head | _fields(each)) for each in wire}
        self._kinds.setdefault(kind, {}).update(given)

    def leave_out(self, kind: str, namespace: str, name: str, why: str) -> None:
        """Skip an object that cannot be read; if it may protect pods, its substitute protects all that it could."""
        substitute = stand_in(kind, namespace, name)
        if substitute is not None:
            self.add(kind, (substitute,))
        self.left_out[kind, namespace, name] = why

    def restart(self, kind: str) -> None:
        """Forget the objects of a kind before it is listed again."""
        self._kinds.pop(kind, None)
        self.left_out = {key: why for key, why in self.left_out.items() if key[0] != kind}

    def names(self, kind: str) -> list[str]:
        """The names of the objects of a cluster-wide kind, in order."""
        return sorted(name for _, name in self._kinds.get(kind, {}))

    def counts(self) -> Mapping[str, int]:
        """How many objects there are, by kind."""
        return {kind: len(known) for kind, known in self._kinds.items()}

    def write(self, stream: BinaryIO) -> None:
        """Write a v1 List, an object a line; a kind that has no objects is an empty list of its own."""
        stream.write(b'{"apiVersion":"v1","kind":"List","metadata":{},"items":[')
        separator = b"\n"
        for line in self._lines():
            stream.write(separator + line)
            separator = b",\n"
        stream.write(b"\n]}\n")

    def write_gzip(self, stream: BinaryIO) -> None:
        """The file, compressed; it holds no name and no time, so the same cluster gives the same bytes."""
        with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=6) as packed:
            self.write(packed)  # type: ignore[arg-type]

    def _lines(self) -> Iterator[bytes]:
        for kind in KINDS:
            known = self._kinds.get(kind)
            if known:
                yield from (known[key] for key in sorted(known))
            elif known is not None:
                yield _encode({"apiVersion": API_VERSIONS[kind], "kind": f"{written_kind(kind)}List", "items": []})


def _fields(value: Struct) -> dict[str, Any]:
    """The fields that differ from what their absence means, by their names on the wire."""
    fields = {}
    for name, wire, default in _layout(type(value)):
        found = getattr(value, name)
        if isinstance(found, Raw):
            if (text := bytes(found)) and text != b"null":
                fields[wire] = _short(text)
        elif found is not None and found != default:
            fields[wire] = _plain(found)
    return fields


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return _fields(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


@lru_cache(maxsize=_REMEMBERED)
def _short(text: bytes) -> Raw:
    """A JSON text without blanks."""
    return Raw(_encode(msgspec.json.decode(text)))


@cache
def _layout(kind: type[Struct]) -> tuple[tuple[str, str, Any], ...]:
    """Name, name on the wire and default of each field."""
    return tuple(
        (each.name, each.encode_name, None if each.default is NODEFAULT else each.default)
        for each in msgspec.structs.fields(kind)
    )
