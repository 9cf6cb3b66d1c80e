"""Plain data to structs, strictly: unknown keys and wrong types are refused, as kube-scheduler refuses them.

A null is as good as absent; in a list it stands for an empty mapping.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct, inspect

from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.kube.near_words import did_you_mean
from restow.scheduling.configuration.document import Document, Path

S = TypeVar("S", bound=Struct)

_STEP: Final = re.compile(r"\.(\w+)|\[(\d+)\]")
_EXPECTED: Final = re.compile(r"Expected `(\w+)`(?: (<=|>=) (-?\d+))?(?:, got `(\w+)`)?")
_WORDS: Final = {
    "int": "a whole number",
    "float": "a number with a fraction",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
}
_BOUNDS: Final = {"<=": "at most", ">=": "at least"}


def decode(document: Document, data: Any, path: Path, cls: type[S]) -> S:
    """What stands at a path of a document as a struct.

    InputError with file, line and field, one a line, where it does not fit: of all unknown keys, and of one wrong type.
    """
    if data is None:
        data = {}
    problems = list(_unknown_keys(document, _info(cls), data, path))
    try:
        decoded = msgspec.convert(_without_nulls(data), cls)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        steps = tuple(int(index) if index else word for word, index in _STEP.findall(where))
        problems.append(document.sentence((*path, *steps), _sentence(what)))
    if problems:
        raise InputError(*problems)
    return decoded


def _sentence(what: str) -> str:
    found = _EXPECTED.match(what)
    if found is None:
        return what
    wanted, bound, limit, got = found.groups()
    if bound:
        return f"must be {_BOUNDS[bound]} {limit}"
    return f"must be {_WORDS.get(wanted, wanted)}, not {_WORDS.get(got, got)}"


@cache
def _info(cls: type[Struct]) -> inspect.Type:
    return inspect.type_info(cls)


def _unknown_keys(document: Document, info: inspect.Type, data: Any, path: Path) -> Iterator[str]:
    """Yield a sentence for each key that the struct of a mapping does not have; wrong types are left to the decoder."""
    for kind in _choices(info):
        if isinstance(kind, inspect.VarTupleType) and isinstance(data, list):
            for index, item in enumerate(data):
                yield from _unknown_keys(document, kind.item_type, item, (*path, index))
        elif isinstance(kind, inspect.StructType) and isinstance(data, dict):
            fields = {each.encode_name: each.type for each in kind.fields}
            for key, value in data.items():
                if key in fields:
                    yield from _unknown_keys(document, fields[key], value, (*path, key))
                else:
                    yield document.sentence((*path, key), f'unknown field "{excerpt(key)}"{did_you_mean(key, fields)}')


def _choices(info: inspect.Type) -> Iterator[inspect.Type]:
    """A type, or each of the types of which it may be one."""
    if isinstance(info, inspect.Metadata):
        yield from _choices(info.type)
    elif isinstance(info, inspect.UnionType):
        for each in info.types:
            yield from _choices(each)
    else:
        yield info


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [{} if item is None else _without_nulls(item) for item in value]
    return value
