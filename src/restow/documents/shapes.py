"""What a field may hold: its type, whether a value fits, and both in words.

Types of Go that Python does not have are annotated ones here. ``Meta(extra={"go": ...})`` names the type of Go: the
decoder (``documents.decoding``) derives the allowed values from it, and messages may quote it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated, Any, Final

from msgspec import Meta, Struct, inspect

from restow.documents.nodes import resolve
from restow.kube.excerpts import excerpt

DURATION: Final = "v1.Duration"
_INT_OR_STRING: Final = "intstr.IntOrString"

Uint = Annotated[int, Meta(extra={"go": "uint"})]
Int = Annotated[int, Meta(extra={"go": "int"})]
#: Written as a Go duration ("1h30m"), decoded to nanoseconds.
Duration = Annotated[int, Meta(extra={"go": DURATION})]
#: A number, or text such as "25%".
IntOrString = Annotated[int | str, Meta(extra={"go": _INT_OR_STRING})]

_PERCENTAGE: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*%")
#: The smallest number that no integer type holds.
_BEYOND: Final = 2.0**64

#: The range of integer types that do not declare one; the same on every platform that Kubernetes is built for.
RANGES: Final = {"uint": (0, 2**64 - 1), "int": (-(2**63), 2**63 - 1)}


class Shape(Struct, frozen=True):
    """A type without its ``| None``, and the name that it was given, if any."""

    type: inspect.Type
    name: str = ""


class _Kind(Struct, frozen=True):
    """The name of a type's values for people and in JSON, and what a null becomes."""

    wanted: str
    json: str
    zero: Any


_LIST: Final = _Kind("a list", "array", ())
_MAPPING: Final = _Kind("a mapping", "object", {})
_KINDS: Final[dict[type[inspect.Type], _Kind]] = {
    inspect.BoolType: _Kind("true or false", "bool", zero=False),
    inspect.StrType: _Kind("text", "string", ""),
    inspect.FloatType: _Kind("a number", "number", 0),
    inspect.IntType: _Kind("a whole number", "number", 0),
    inspect.ListType: _LIST,
    inspect.VarTupleType: _LIST,
    inspect.DictType: _MAPPING,
    inspect.StructType: _MAPPING,
}
#: Types of a name of their own that take something else than their Python type says.
_NAMED: Final = {DURATION: "a duration such as 1h30m", _INT_OR_STRING: "a whole number, or text such as 25%"}
_FOUND: Final = {
    "bool": "true or false",
    "number": "a number",
    "string": "text",
    "array": "a list",
    "object": "a mapping",
    "null": "empty",
}


@cache
def shape_of_struct(cls: type[Struct]) -> Shape:
    """Return the shape of a struct."""
    return shape_of(inspect.type_info(cls))


def shape_of(info: inspect.Type) -> Shape:
    """Return the shape of a type; of several types it stays a union."""
    name = ""
    while True:
        if isinstance(info, inspect.Metadata):
            name = (info.extra or {}).get("go", name)
            info = info.type
        elif isinstance(info, inspect.UnionType) and len(types := _without_none(info)) == 1:
            (info,) = types
        else:
            return Shape(info, name)


def _without_none(info: inspect.UnionType) -> list[inspect.Type]:
    return [part for part in info.types if not isinstance(part, inspect.NoneType)]


def json_kind(data: Any) -> str:
    """Return JSON's word for a value."""
    match data:
        case None:
            return "null"
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def _is_beyond(data: Any) -> bool:
    """Whether a whole number is so large that it is read as a fraction."""
    return isinstance(data, float) and abs(data) >= _BEYOND


def fits(shape: Shape, data: Any) -> bool:
    """Whether a value is of a type; what is inside it is not looked at."""
    if shape.name == DURATION:
        return isinstance(data, str)
    match shape.type:
        case inspect.UnionType():
            return any(fits(shape_of(each), data) for each in _without_none(shape.type))
        case inspect.LiteralType() | inspect.EnumType():
            return isinstance(data, str | int) and data in _words(shape.type)
        case inspect.IntType():
            lowest, highest = _bounds(shape)
            return isinstance(data, int) and not isinstance(data, bool) and lowest <= data <= highest
    kind = _KINDS.get(type(shape.type))
    return kind is None or kind.json == json_kind(data)


def misfit(shape: Shape, data: Any) -> str:
    """Return what a value must be, and is not: ``must be a whole number, not text``."""
    if isinstance(shape.type, inspect.IntType) and _is_whole(data) and shape.name not in _NAMED:
        lowest, highest = _bounds(shape)
        return f"must be at least {lowest}" if data < lowest else f"must be at most {highest}"
    words = _choices(shape)
    if words:
        return f"must be {' or '.join(words)}, not {excerpt(repr(data))}"
    if isinstance(shape.type, inspect.IntType) and _is_beyond(data) and shape.name not in _NAMED:
        lowest, highest = _bounds(shape)
        return f"must be at least {lowest}" if data < lowest else f"must be at most {highest}"
    is_fraction = isinstance(data, float) and _wanted(shape).startswith("a whole number")
    # The value itself may be a secret.
    return f"must be {_wanted(shape)}, not {'a fraction' if is_fraction else _FOUND[json_kind(data)]}"


def remedy(shape: Shape, data: Any) -> str:
    """Return what to do about a value that does not fit; empty where nothing is obvious."""
    if isinstance(shape.type, inspect.StrType):
        if isinstance(data, dict):
            return f"write - {excerpt(data['name'])}" if isinstance(data.get("name"), str) else ""
        return "" if data is None or isinstance(data, list) else "put it in quotes"
    if isinstance(data, str) and isinstance(shape.type, inspect.IntType | inspect.FloatType):
        percentage = _PERCENTAGE.fullmatch(data)
        if percentage is not None and shape.name != DURATION:
            return f"write {percentage[1]}"
    quoted = isinstance(data, str) and isinstance(shape.type, inspect.IntType | inspect.FloatType | inspect.BoolType)
    return "remove the quotes" if quoted and shape.name != DURATION and fits(shape, resolve(data)) else ""


def words_of(shape: Shape) -> list[str]:
    """Return the words of which a value must be one; empty where it need not."""
    types = _without_none(shape.type) if isinstance(shape.type, inspect.UnionType) else [shape.type]
    return [str(word) for each in types for word in _words(each)]


def _words(info: inspect.Type) -> list[Any]:
    """Return the values of a choice, in order; none for a type that is no choice."""
    match info:
        case inspect.LiteralType(values=values):
            return list(values)
        case inspect.EnumType(cls=cls):
            return sorted(each.value for each in cls)
    return []


def zero(shape: Shape) -> Any:
    """Return what stands in place of a null inside a list or a mapping, as in Go."""
    if isinstance(shape.type, inspect.UnionType):
        return zero(shape_of(_without_none(shape.type)[0]))
    kind = _KINDS.get(type(shape.type))
    return kind.zero if kind else None


def _choices(shape: Shape) -> list[str]:
    """Return everything that may be written, where some of it are certain words."""
    words = words_of(shape)
    if not words or not isinstance(shape.type, inspect.UnionType):
        return words
    others = [each for each in map(shape_of, _without_none(shape.type)) if not words_of(each)]
    return [*words, *map(_wanted, others)]


def _wanted(shape: Shape) -> str:
    return _NAMED.get(shape.name) or _KINDS[type(shape.type)].wanted


def _is_whole(data: Any) -> bool:
    return isinstance(data, int) and not isinstance(data, bool)


def _bounds(shape: Shape) -> tuple[int, int]:
    assert isinstance(shape.type, inspect.IntType)
    lowest, highest = RANGES.get(shape.name, RANGES["int"])
    return (
        lowest if shape.type.ge is None else int(shape.type.ge),
        highest if shape.type.le is None else int(shape.type.le),
    )
