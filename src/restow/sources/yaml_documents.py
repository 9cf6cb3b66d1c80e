"""YAML dumps to JSON, one document at a time.

The event stream of libyaml is read directly: this module decides what its scalars mean (as Kubernetes' own reader
does: no timestamps), refuses a key that is written twice, goes only as deep as a Kubernetes object may, and counts
the values that aliases repeat, so that a small file cannot become a large one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import yaml

from restow.errors import InputError
from restow.kube.yaml_scalars import resolve

#: Values that aliases may add to what is written.
_MOST_ADDED = 1_000_000
_DEEPEST = 100
_STANDARD = "tag:yaml.org,2002:"
_RESOLVED_TAGS = {f"{_STANDARD}{name}" for name in ("bool", "int", "float", "null", "timestamp")}
#: The key whose value is a mapping to take over.
_MERGE = "<<"


def yaml_to_json(text: bytes, origin: str) -> Iterator[bytes]:
    """Each non-empty document of a YAML stream as JSON; InputError with file and line where it is not one."""
    events = yaml.parse(text, Loader=yaml.CSafeLoader)
    try:
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                value = _Reader(origin, events).value(next(events), 0)
                if value is not None:
                    yield msgspec.json.encode(value)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{origin}:{line}: not valid YAML: {error.problem}") from error
    except yaml.reader.ReaderError as error:
        raise InputError(f"{origin}: not valid YAML: {error.reason} at byte {error.position}") from error
    except RecursionError as error:
        raise InputError(f"{origin}: aliases nest too deeply; this is not a cluster") from error


@dataclass(slots=True, frozen=True)
class _Anchored:
    """A value that aliases may repeat, and how many values it is made of."""

    value: Any
    size: int


@dataclass(slots=True)
class _Reader:
    """Turns the events of one document into plain values."""

    origin: str
    events: Iterator[Any]
    #: What the anchors name; None while their value is being read.
    anchors: dict[str, _Anchored | None] = field(default_factory=dict)
    seen: int = 0
    added: int = 0

    def value(self, event: Any, depth: int) -> Any:
        """The value that starts with this event."""
        if depth > _DEEPEST:
            raise self._error(event, f"nested more than {_DEEPEST} levels deep; this is not a Kubernetes object")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        self.seen += 1
        anchor = event.anchor
        if anchor is None:
            return self._content(event, depth)
        before = self.seen
        self.anchors[anchor] = None
        value = self._content(event, depth)
        self.anchors[anchor] = _Anchored(value, self.seen - before + 1)
        return value

    def _content(self, event: Any, depth: int) -> Any:
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(depth)
        return self._mapping(depth)

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            raise self._error(event, f'no value is anchored as "{event.anchor}"')
        found = self.anchors[event.anchor]
        if found is None:
            raise self._error(event, f'the value anchored as "{event.anchor}" contains itself')
        self.seen += found.size
        self.added += found.size
        if self.added > _MOST_ADDED:
            raise self._error(event, "aliases expand to more values than any cluster has")
        return found.value

    def _sequence(self, depth: int) -> list[Any]:
        result = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            result.append(self.value(event, depth + 1))
        return result

    def _mapping(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise self._error(event, "a key must be a word, not a list, a mapping or an alias")
            if event.value in result:
                raise self._error(event, f'the key "{event.value}" is written twice')
            value = self.value(next(self.events), depth + 1)
            if event.value == _MERGE and event.implicit[0]:
                merged |= self._merged(event, value)
            else:
                result[event.value] = value
        return merged | result if merged else result

    def _merged(self, event: Any, value: Any) -> dict[str, Any]:
        """What a merge key takes over: of several mappings the first one that has a key counts."""
        merged: dict[str, Any] = {}
        for mapping in reversed(value) if isinstance(value, list) else (value,):
            if not isinstance(mapping, dict):
                raise self._error(event, "a merge key (<<) takes a mapping or a list of mappings")
            merged |= mapping
        return merged

    def _scalar(self, event: Any) -> Any:
        if not (event.implicit[0] if event.tag is None else event.tag in _RESOLVED_TAGS):
            return event.value
        value = resolve(event.value)
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error(event, f"{event.value} is not a number that JSON can hold")
        return value

    def _error(self, event: Any, message: str) -> InputError:
        return InputError(f"{self.origin}:{event.start_mark.line + 1}: {message}")
