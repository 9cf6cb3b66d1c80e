"""The fields of a document, as the references write them: ``moves[].pod.name``, ``rejected.*.plugin``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec


def fields_of(document: type[msgspec.Struct]) -> Iterator[str]:
    """The paths of all fields of a struct."""
    yield from _paths(msgspec.inspect.type_info(document), "")


def _paths(kind: Any, path: str) -> Iterator[str]:
    """The paths of a type's fields."""
    match kind:
        case msgspec.inspect.StructType(fields=fields):
            for field in fields:
                inner = f"{path}.{field.encode_name}" if path else field.encode_name
                yield from _paths(field.type, inner)
        case msgspec.inspect.VarTupleType(item_type=item):
            yield path
            if isinstance(item, msgspec.inspect.StructType):
                yield from _paths(item, f"{path}[]")
        case msgspec.inspect.DictType(value_type=value):
            yield path
            if isinstance(value, msgspec.inspect.StructType):
                yield from _paths(value, f"{path}.*")
        case msgspec.inspect.UnionType(types=types):
            yield path
            for each in types:
                if isinstance(each, msgspec.inspect.StructType):
                    yield from _paths(each, path)
        case _:
            yield path
