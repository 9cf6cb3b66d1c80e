"""Plain data to the structs of a policy, with every problem instead of the first.

Upstream decodes with Go's JSON decoder, and its texts are what people search for, so the rules are Go's: a null is as
good as nothing, a number must fit its Go type, a boolean is no number, keys are case-sensitive. An error quotes the Go
type and field as Go does: the innermost struct, then the field's path from where decoding began.

Unknown keys are collected, not judged: upstream ignores them in the policy and refuses them in ``args``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct, inspect

from restow.kube.duration import parse_duration
from restow.kube.excerpts import excerpt
from restow.kube.near_words import did_you_mean
from restow.policies.findings import Issue, Path

S = TypeVar("S", bound=Struct)

#: Go's integer types and what they hold; ``uint`` and ``int`` as on every platform upstream is built for.
RANGES: Final = {
    "uint": (0, 2**64 - 1),
    "int": (-(2**63), 2**63 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
_DURATION: Final = "v1.Duration"
_INT_OR_STRING: Final = "intstr.IntOrString"
#: One of some words, or a number.
_CERTAINTY: Final = "restow.Certainty"
_A_DURATION: Final = "a duration such as 1h30m"
#: Go package of a struct, by the module that declares ours.
_PACKAGES: Final = {
    "restow.kube.objects": "v1.",
    "restow.policies.arguments": "api.",
    "restow.policies.policy": "v1alpha2.",
    "restow.policies.wire": "v1alpha2.",
    "restow.policies.v1alpha1_wire": "v1alpha1.",
    "restow.descheduling.evictor_args": "defaultevictor.",
    "restow.descheduling.plugins.low_node_utilization": "nodeutilization.",
    "restow.descheduling.plugins.pod_life_time": "podlifetime.",
}


@dataclass(slots=True, frozen=True)
class _Kind:
    """What Go and people call a type, JSON's word for its values, and what a null leaves of it."""

    go: str
    wanted: str
    json: str
    zero: Any


_KINDS: Final[dict[type[inspect.Type], _Kind]] = {
    inspect.BoolType: _Kind("bool", "true or false", "bool", zero=False),
    inspect.StrType: _Kind("string", "text, in quotes if it looks like something else", "string", ""),
    inspect.FloatType: _Kind("float64", "a number", "number", 0),
    inspect.IntType: _Kind("int", "a whole number", "number", 0),
    inspect.VarTupleType: _Kind("", "a list", "array", ()),
    inspect.DictType: _Kind("", "a mapping", "object", {}),
    inspect.StructType: _Kind("", "a mapping", "object", {}),
}


@dataclass(slots=True, frozen=True)
class UnknownKey:
    """A key that its struct does not have; ``inner`` is the path from where decoding began."""

    path: Path
    inner: Path
    known: tuple[str, ...]


@dataclass(slots=True, frozen=True)
class Decoded(Generic[S]):
    """What came out: ``value`` is None if and only if there are errors."""

    value: S | None
    errors: tuple[Issue, ...] = ()
    unknown: tuple[UnknownKey, ...] = ()


def decode(data: Any, cls: type[S], path: Path) -> Decoded[S]:
    """Decode what stands at ``path`` of a document into ``cls``; None is the struct with nothing set."""
    walk = _Walk(path)
    plain = {} if data is None else walk.value(_shape(cls), data, _Place())
    errors, unknown = tuple(walk.errors), tuple(walk.unknown)
    return Decoded(None if errors else msgspec.convert(plain, cls), errors, unknown)


@dataclass(slots=True, frozen=True)
class _Shape:
    """A type without its ``| None``, and its Go name."""

    type: inspect.Type
    go: str


def _shape_of(info: inspect.Type) -> _Shape:
    go = None
    while isinstance(info, inspect.UnionType | inspect.Metadata):
        if isinstance(info, inspect.Metadata):
            go = (info.extra or {}).get("go", go)
            info = info.type
        else:
            info = next(part for part in info.types if not isinstance(part, inspect.NoneType))
    return _Shape(info, go or _go_name(info))


@cache
def _shape(cls: type[Struct]) -> _Shape:
    return _shape_of(inspect.type_info(cls))


def _go_name(info: inspect.Type) -> str:
    match info:
        case inspect.VarTupleType(item_type=item):
            return f"[]{_shape_of(item).go}"
        case inspect.DictType(value_type=value):
            return f"map[string]{_shape_of(value).go}"
        case inspect.StructType(cls=cls):
            package = next(
                (found for room, found in _PACKAGES.items() if f"{cls.__module__}.".startswith(f"{room}.")), ""
            )
            return f"{package}{cls.__name__}"
    return _KINDS[type(info)].go if type(info) in _KINDS else ""


@dataclass(slots=True, frozen=True)
class _Place:
    """Where the walk is, from where decoding began: the path, and the innermost struct with Go's field path."""

    path: Path = ()
    struct: str = ""
    fields: tuple[str, ...] = ()

    def item(self, step: str | int) -> _Place:
        return _Place((*self.path, step), self.struct, self.fields)

    def field(self, struct: str, name: str) -> _Place:
        return _Place((*self.path, name), struct, (*self.fields, name))


@dataclass(slots=True)
class _Walk:
    """Checks data against shapes and rebuilds it for msgspec: without nulls, with durations in nanoseconds."""

    base: Path
    errors: list[Issue] = field(default_factory=list)
    unknown: list[UnknownKey] = field(default_factory=list)

    def value(self, shape: _Shape, data: Any, place: _Place) -> Any:
        if isinstance(shape.type, inspect.LiteralType):
            return self._choice(shape, data, place)
        if shape.go == _DURATION:
            return self._duration(data, place)
        if shape.go == _INT_OR_STRING:
            return self._int_or_string(data, place)
        if not _fits(shape, data):
            self._mismatch(shape, data, place, _wanted(shape, data))
            return data
        return self._inside(shape.type, data, place)

    def _inside(self, info: inspect.Type, data: Any, place: _Place) -> Any:
        match info:
            case inspect.StructType():
                return self._struct(info, data, place)
            case inspect.DictType():
                inner = _shape_of(info.value_type)
                return {key: self._element(inner, value, place.item(key)) for key, value in data.items()}
            case inspect.VarTupleType():
                inner = _shape_of(info.item_type)
                return [self._element(inner, value, place.item(index)) for index, value in enumerate(data)]
        return data

    def _struct(self, info: inspect.StructType, data: dict[str, Any], place: _Place) -> dict[str, Any]:
        fields = {known.encode_name: known for known in info.fields}
        plain = {}
        for key, value in data.items():
            if key not in fields:
                inner = (*place.path, key)
                self.unknown.append(UnknownKey((*self.base, *inner), inner, tuple(fields)))
            elif value is not None:
                shape = _shape_of(fields[key].type)
                plain[key] = self.value(shape, value, place.field(info.cls.__name__, key))
        return plain

    def _element(self, shape: _Shape, data: Any, place: _Place) -> Any:
        return _zero(shape) if data is None else self.value(shape, data, place)

    def _duration(self, data: Any, place: _Place) -> int:
        if not isinstance(data, str):
            self._mismatch(_Shape(inspect.StrType(), "string"), data, place, _A_DURATION)
            return 0
        try:
            return parse_duration(data)
        except ValueError as error:
            self._error(place, str(error), _A_DURATION)
            return 0

    def _int_or_string(self, data: Any, place: _Place) -> Any:
        if isinstance(data, bool) or not isinstance(data, int | str):
            self._mismatch(
                _Shape(inspect.IntType(), _INT_OR_STRING), data, place, "a whole number, or text such as 25%"
            )
        return data

    def _choice(self, shape: _Shape, data: Any, place: _Place) -> Any:
        assert isinstance(shape.type, inspect.LiteralType)
        info, may_be_number = shape.type, shape.go == _CERTAINTY
        if may_be_number and json_kind(data) == "number":
            return data
        if data not in info.values:
            choices = " or ".join([*map(str, info.values), *(["a number"] if may_be_number else [])])
            hint = did_you_mean(data, map(str, info.values)) if isinstance(data, str) else ""
            self.errors.append(Issue((*self.base, *place.path), f"must be {choices}, not {excerpt(repr(data))}{hint}"))
        return data

    def _mismatch(self, shape: _Shape, data: Any, place: _Place, wanted: str) -> None:
        number = isinstance(shape.type, inspect.IntType) and json_kind(data) == "number"
        got = f"number {excerpt(data)}" if number else json_kind(data)
        where = f"struct field {place.struct}.{'.'.join(map(excerpt, place.fields))} of" if place.fields else "value of"
        self._error(place, f"json: cannot unmarshal {got} into Go {where} type {shape.go}", wanted)

    def _error(self, place: _Place, upstream: str, wanted: str) -> None:
        self.errors.append(Issue((*self.base, *place.path), f"must be {wanted} ({upstream})"))


def json_kind(data: Any) -> str:
    """Return JSON's word for a value that is not null."""
    match data:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def _fits(shape: _Shape, data: Any) -> bool:
    if isinstance(shape.type, inspect.AnyType):
        return True
    if isinstance(shape.type, inspect.IntType):
        lowest, highest = RANGES[shape.go]
        return isinstance(data, int) and not isinstance(data, bool) and lowest <= data <= highest
    return json_kind(data) == _KINDS[type(shape.type)].json


def _wanted(shape: _Shape, data: Any) -> str:
    if isinstance(shape.type, inspect.StrType) and isinstance(data, dict) and isinstance(data.get("name"), str):
        return f"text: write - {data['name']}"
    more = " of 0 or more" if shape.go == "uint" else ""
    return f"{_KINDS[type(shape.type)].wanted}{more}"


def _zero(shape: _Shape) -> Any:
    """Return what Go leaves in place of a null inside a list or a map."""
    return _KINDS[type(shape.type)].zero if type(shape.type) in _KINDS else None
