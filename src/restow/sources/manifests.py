"""Whole objects of a file as plain data, to create them; ``sources.documents`` reads an existing cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from restow.errors import InputError
from restow.kube.objects.unreadable import DECODING_ERRORS, path_first
from restow.sources.reading import InputDocument, input_files, read_documents, split_json
from restow.sources.sizes import Sizes

Manifest = dict[str, Any]


def read_manifests(path: str, sizes: Sizes) -> list[Manifest]:
    """The objects of a file or a directory, those of lists one by one; InputError where it cannot be read."""
    return [each for name in input_files([path]) for each in _objects_in(name, sizes)]


def _objects_in(name: str, sizes: Sizes) -> Iterator[Manifest]:
    for document in read_documents(name, sizes):
        for value in _values(document):
            yield from unlisted(value, document.origin)


def _values(document: InputDocument) -> Iterator[Any]:
    """The value of a text, or those of one that holds several."""
    try:
        yield msgspec.json.decode(document.data)
    except DECODING_ERRORS:
        for part in split_json(document.data, document.origin):
            try:
                yield msgspec.json.decode(part.data)
            except DECODING_ERRORS as error:
                raise InputError(f"{document.origin}: {path_first(error)}") from error


def unlisted(value: Any, origin: str) -> Iterator[Manifest]:
    """The object, or those of a list, which may leave their kind to it; InputError where it is none."""
    if not isinstance(value, dict):
        raise InputError(f"{origin}: not a Kubernetes object; write a mapping with apiVersion, kind and metadata")
    items, kind = value.get("items"), value.get("kind")
    if not isinstance(items, list) or not isinstance(kind, str) or not kind.endswith("List"):
        yield value
        return
    head = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")} if kind != "List" else {}
    for item in items:
        yield from unlisted(head | item if isinstance(item, dict) else item, origin)
