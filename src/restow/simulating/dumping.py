"""The objects of a simulated cluster as a dump: what ``kubectl get -o json`` would print of it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from restow.kube.kinds import API_VERSIONS, KINDS
from restow.kube.manifests.documents import document_of
from restow.simulating.indexes import key_of
from restow.simulating.store import Store


def dump(store: Store) -> Iterator[bytes]:
    """Yield a v1 List, an object a line; a kind that decisions read and that has no objects is an empty list of its own."""
    yield b'{"apiVersion":"v1","kind":"List","metadata":{},"items":['
    separator = b"\n"
    for document in _documents(store):
        yield separator + msgspec.json.encode(document)
        separator = b",\n"
    yield b"\n]}\n"


def _documents(store: Store) -> Iterator[dict[str, object]]:
    """All objects by kind, namespace and name: nodes and pods first, as people know it."""
    for kind in [*KINDS, *sorted(set(store.kinds()) - set(KINDS))]:
        objects = sorted(store.list(kind), key=key_of)
        if not objects:
            yield {"apiVersion": API_VERSIONS[kind], "kind": f"{kind}List", "items": []}
        yield from map(document_of, objects)
