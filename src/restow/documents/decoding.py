"""Plain data to structs, with every problem instead of the first.

The rules are those of Go's JSON decoder, because Go programs read most of these files too: a null is as good as
nothing, a number must fit its type, a boolean is no number, keys are case-sensitive. Unknown keys are collected, not
judged: some programs ignore them, others refuse them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct, inspect

from restow.documents.findings import Issue, Path
from restow.documents.shapes import DURATION, Shape, fits, misfit, remedy, shape_of, shape_of_struct, words_of, zero
from restow.kube.duration import parse_duration
from restow.kube.excerpts import did_you_mean, excerpt

S = TypeVar("S", bound=Struct)

_A_DURATION: Final = "must be a duration such as 1h30m"
#: How people write a time, and how many seconds each unit has.
_TIME: Final = re.compile(r"(\d{1,9})([smhd])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class UnknownKey(Struct, frozen=True):
    """A key that its struct does not have; ``inner`` is the path from where decoding began."""

    path: Path
    inner: Path
    known: tuple[str, ...]


class DecodingPath(Struct, frozen=True):
    """Where decoding is, from where it began: the path, and the innermost struct with the names of its fields."""

    path: Path = ()
    struct: str = ""
    fields: tuple[str, ...] = ()

    def item(self, step: str | int) -> DecodingPath:
        """Return the place of an item of a list or a mapping."""
        return DecodingPath((*self.path, step), self.struct, self.fields)

    def field(self, struct: str, name: str) -> DecodingPath:
        """Return the place of a field of a struct."""
        return DecodingPath((*self.path, name), struct, (*self.fields, name))


#: Another program's message about a value that does not fit; it is put in brackets after ours.
Quote = Callable[[Shape, Any, DecodingPath], str]


class Decoded(Struct, Generic[S], frozen=True):
    """What came out: ``value`` is None if and only if there are errors."""

    value: S | None
    errors: tuple[Issue, ...] = ()
    unknown: tuple[UnknownKey, ...] = ()

    def strictly(self) -> tuple[Issue, ...]:
        """Return the errors where unknown keys are errors too."""
        return (*map(unknown_key, self.unknown), *self.errors)


def unknown_key(key: UnknownKey) -> Issue:
    """Return the error about an unknown key."""
    word = str(key.path[-1])
    return Issue(key.path, f'unknown field "{excerpt(word)}"', hint=did_you_mean(word, key.known))


def decode(data: Any, cls: type[S], path: Path, quote: Quote | None = None) -> Decoded[S]:
    """Decode what stands at ``path`` of a document into ``cls``; None is the struct with nothing set."""
    walk = _Walk(path, quote)
    plain = walk.value(shape_of_struct(cls), {} if data is None else data, DecodingPath())
    errors, unknown = tuple(walk.errors), tuple(walk.unknown)
    return Decoded(None if errors else msgspec.convert(plain, cls), errors, unknown)


@dataclass(slots=True)
class _Walk:
    """Checks data against shapes and rebuilds it for msgspec: without nulls, with durations in nanoseconds."""

    base: Path
    quote: Quote | None
    errors: list[Issue] = field(default_factory=list)
    unknown: list[UnknownKey] = field(default_factory=list)

    def value(self, shape: Shape, data: Any, place: DecodingPath) -> Any:
        if not fits(shape, data):
            self._misfit(shape, data, place)
            return data
        if shape.name == DURATION:
            return self._duration(data, place)
        return self._inside(shape.type, data, place)

    def _inside(self, info: inspect.Type, data: Any, place: DecodingPath) -> Any:
        match info:
            case inspect.StructType():
                return self._struct(info, data, place)
            case inspect.DictType():
                inner = shape_of(info.value_type)
                return {key: self._element(inner, value, place.item(key)) for key, value in data.items()}
            case inspect.VarTupleType() | inspect.ListType():
                inner = shape_of(info.item_type)
                return [self._element(inner, value, place.item(index)) for index, value in enumerate(data)]
        return data

    def _struct(self, info: inspect.StructType, data: dict[str, Any], place: DecodingPath) -> dict[str, Any]:
        fields = {known.encode_name: known for known in info.fields}
        plain = {}
        for key, value in data.items():
            if key not in fields:
                inner = (*place.path, key)
                self.unknown.append(UnknownKey((*self.base, *inner), inner, tuple(fields)))
            elif value is not None:
                plain[key] = self.value(shape_of(fields[key].type), value, place.field(info.cls.__name__, key))
        self.errors += self._missing(info, plain, place)
        return plain

    def _missing(self, info: inspect.StructType, plain: dict[str, Any], place: DecodingPath) -> Iterator[Issue]:
        for known in info.fields:
            if known.required and known.encode_name not in plain:
                yield Issue((*self.base, *place.path), f"has no {known.encode_name}", hint="add it")

    def _element(self, shape: Shape, data: Any, place: DecodingPath) -> Any:
        # A list of choices cannot hold what Go leaves of a null: no choice is empty.
        if data is not None or words_of(shape):
            return self.value(shape, data, place)
        return self.value(shape, {}, place) if isinstance(shape.type, inspect.StructType) else zero(shape)

    def _duration(self, data: str, place: DecodingPath) -> int:
        try:
            return parse_duration(data)
        except ValueError as error:
            days = _TIME.fullmatch(data)
            hint = f"write {24 * int(days[1])}h" if days and days[2] == "d" else ""
            self.errors.append(Issue((*self.base, *place.path), f"{_A_DURATION} ({error})", hint=hint))
            return 0

    def _misfit(self, shape: Shape, data: Any, place: DecodingPath) -> None:
        quoted = f" ({self.quote(shape, data, place)})" if self.quote and not words_of(shape) else ""
        slip = did_you_mean(data, words_of(shape)) if isinstance(data, str) else ""
        hint = slip or _in_seconds(place.path[-1] if place.path else "", data) or remedy(shape, data)
        self.errors.append(Issue((*self.base, *place.path), f"{misfit(shape, data)}{quoted}", hint=hint))


def _in_seconds(field: str | int, data: Any) -> str:
    """``write 86400`` for ``1d`` in a field of seconds."""
    time = _TIME.fullmatch(data) if isinstance(data, str) and str(field).endswith("Seconds") else None
    return f"write {int(time[1]) * _SECONDS[time[2]]}" if time else ""
