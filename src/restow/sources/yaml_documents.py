"""YAML dumps to JSON, one document at a time.

The event stream of libyaml is read directly: this module decides what its scalars mean (as Kubernetes' own reader
does: no timestamps) and refuses a key that is written twice. It goes only as deep as a Kubernetes object may, and
aliases add only so much that a small file cannot become a large one (``kube.yaml_events``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import yaml

from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.kube.yaml_events import bounded_events
from restow.kube.yaml_scalars import resolve

_DEEPEST = 100
_STANDARD = "tag:yaml.org,2002:"
_RESOLVED_TAGS = {f"{_STANDARD}{name}" for name in ("bool", "int", "float", "null", "timestamp")}
#: The key whose value is a mapping to take over.
_MERGE = "<<"


def yaml_to_json(text: bytes, origin: str) -> Iterator[bytes]:
    """Each non-empty document of a YAML stream as JSON; InputError with file and line where it is not one."""
    events = bounded_events(
        text, _DEEPEST, "a Kubernetes object", lambda line, message: _refusal(origin, line, message)
    )
    try:
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                value = _Reader(origin, events).value(next(events))
                if value is not None:
                    yield msgspec.json.encode(value)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{origin}:{line}: not valid YAML: {error.problem}") from error
    except yaml.reader.ReaderError as error:
        raise InputError(f"{origin}: not valid YAML: {error.reason} at byte {error.position}") from error


def _refusal(origin: str, line: int, message: str) -> InputError:
    return InputError(f"{origin}:{line}: {message}")


#: Stands for the value of an anchor while it is being read.
_UNFINISHED = object()


@dataclass(slots=True)
class _Reader:
    """Turns the events of one document into plain values."""

    origin: str
    events: Iterator[Any]
    #: What the anchors name.
    anchors: dict[str, Any] = field(default_factory=dict)

    def value(self, event: Any) -> Any:
        """The value that starts with this event."""
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        anchor = event.anchor
        if anchor is None:
            return self._content(event)
        self.anchors[anchor] = _UNFINISHED
        value = self.anchors[anchor] = self._content(event)
        return value

    def _content(self, event: Any) -> Any:
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence()
        return self._mapping()

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            raise self._error(event, f'no value is anchored as "{excerpt(event.anchor)}"')
        found = self.anchors[event.anchor]
        if found is _UNFINISHED:
            raise self._error(event, f'the value anchored as "{excerpt(event.anchor)}" contains itself')
        return found

    def _sequence(self) -> list[Any]:
        result = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            result.append(self.value(event))
        return result

    def _mapping(self) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise self._error(event, "a key must be a word, not a list, a mapping or an alias")
            if event.value in result:
                raise self._error(event, f'the key "{excerpt(event.value)}" is written twice')
            value = self.value(next(self.events))
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
            raise self._error(event, f"{excerpt(event.value)} is not a number that JSON can hold")
        return value

    def _error(self, event: Any, message: str) -> InputError:
        return _refusal(self.origin, event.start_mark.line + 1, message)
