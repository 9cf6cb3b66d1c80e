"""YAML text to trees of values with lines, as the Go programs understand it.

The event stream of libyaml is read directly: it has the lines and the anchors, its depth and size are bounded
(``documents.yaml_events``), and the meaning of scalars stays ours (``documents.yaml_scalars``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from restow.documents.nodes import Entry, ListNode, MapNode, Node, ScalarNode, Source
from restow.documents.yaml_events import bounded_events
from restow.documents.yaml_scalars import Scalar, resolve
from restow.kube.excerpts import excerpt

_STANDARD = "tag:yaml.org,2002:"
_RESOLVED_TAGS = {f"{_STANDARD}{name}" for name in ("bool", "int", "float", "null", "timestamp")}
#: The key whose value is a mapping to take over.
_MERGE = "<<"


def read_yaml(text: bytes, source: Source) -> Iterator[Node]:
    """Yield each document of a stream.

    Raises InputError with file and line for anything that is not YAML, and for keys that JSON, into which the Go
    programs turn a file, cannot hold.
    """
    events = bounded_events(text, source.deepest, source.what, source.error)
    try:
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                yield _Reader(events, source).node(next(events))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise source.error(line, f"not valid YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.count(b"\n", 0, error.position) + 1
        raise source.error(line, f"not valid YAML: {error.reason} at byte {error.position}") from None


@dataclass(slots=True)
class _Reader:
    """Turns the events of one document into nodes; remembers what the anchors name."""

    events: Iterator[Any]
    source: Source
    anchors: dict[str, Node | None] = field(default_factory=dict)

    def node(self, event: Any) -> Node:
        line = event.start_mark.line + 1
        if event.anchor is None:
            return self._content(event, line)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event.anchor, line)
        self.anchors[event.anchor] = None
        node = self.anchors[event.anchor] = self._content(event, line)
        return node

    def _content(self, event: Any, line: int) -> Node:
        kind: Any = type(event)
        if kind is yaml.ScalarEvent:
            return ScalarNode(_scalar(event), line)
        if kind is yaml.SequenceStartEvent:
            return ListNode(tuple(self._items()), line)
        return MapNode(tuple(self._entries()), line)

    def _alias(self, anchor: str, line: int) -> Node:
        if anchor not in self.anchors:
            raise self.source.error(line, f'no value is anchored as "{excerpt(anchor)}"')
        node = self.anchors[anchor]
        if node is None:
            raise self.source.error(line, f'the value anchored as "{excerpt(anchor)}" contains itself')
        return node

    def _items(self) -> Iterator[Node]:
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            yield self.node(event)

    def _entries(self) -> Iterator[Entry]:
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.node(event)
            value = self.node(next(self.events))
            if type(event) is yaml.ScalarEvent and event.value == _MERGE and event.implicit[0]:
                yield from self._merge(value, key.line)
            else:
                yield Entry(self._key(key), value, event.start_mark.line + 1)

    def _merge(self, value: Node, line: int) -> Iterator[Entry]:
        """Yield what a merge key takes over: of several mappings the first one that has a key counts."""
        maps = value.items if isinstance(value, ListNode) else (value,)
        merged: dict[str, Entry] = {}
        for node in reversed(maps):
            if not isinstance(node, MapNode):
                raise self.source.error(line, "a merge key (<<) takes a mapping or a list of mappings")
            merged |= {entry.key: Entry(entry.key, entry.value, entry.line, merged=True) for entry in node.entries}
        yield from merged.values()

    def _key(self, node: Node) -> str:
        value = node.value if isinstance(node, ScalarNode) else None
        if isinstance(value, str):
            return value
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            raise self.source.error(node.line, "a key must be a word, not null, a list or a mapping")
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value)


def _scalar(event: Any) -> Scalar:
    resolved = event.implicit[0] if event.tag is None else event.tag in _RESOLVED_TAGS
    return resolve(event.value) if resolved else str(event.value)
