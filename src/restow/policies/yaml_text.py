"""YAML text to a tree of values with lines, as the Go programs understand it.

The event stream of libyaml is read directly: it has the lines and the anchors, its depth is bounded
(``kube.yaml_events``), and the meaning of scalars stays ours (``kube.yaml_scalars``). Only the first document counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from restow.kube.excerpts import excerpt
from restow.kube.yaml_events import bounded_events
from restow.kube.yaml_scalars import Scalar, resolve
from restow.policies.nodes import MAX_DEPTH, Entry, ListNode, MapNode, Node, ScalarNode, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

_STANDARD = "tag:yaml.org,2002:"
_RESOLVED_TAGS = {f"{_STANDARD}{name}" for name in ("bool", "int", "float", "null", "timestamp")}


def read_yaml(text: str, source: Source) -> tuple[Node | None, bool]:
    """Return the first document (None if there is none) and whether another one follows.

    Raises InputError with file and line for anything that is not YAML, and for keys and numbers that JSON, into
    which the Go programs turn the file, cannot hold.
    """
    events = bounded_events(text, MAX_DEPTH, "a policy", source.error)
    try:
        next(events)
        if not isinstance(next(events), yaml.DocumentStartEvent):
            return None, False
        root = _Reader(events, source).node(next(events))
        next(events)
        return root, _another(events)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise source.error(line, f"yaml: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise source.error(line, f"yaml: {error.reason}: character {error.character!r}") from None


def _another(events: Iterator[Any]) -> bool:
    try:
        return isinstance(next(events), yaml.DocumentStartEvent)
    except yaml.YAMLError:
        return True


@dataclass(slots=True)
class _Reader:
    """Turns events into nodes; remembers what the anchors name."""

    events: Iterator[Any]
    source: Source
    anchors: dict[str, Node | None] = field(default_factory=dict)

    def node(self, event: Any) -> Node:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event.anchor, line)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        node = self._content(event, line)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _content(self, event: Any, line: int) -> Node:
        if isinstance(event, yaml.ScalarEvent):
            return ScalarNode(self._scalar(event), line)
        if isinstance(event, yaml.SequenceStartEvent):
            return ListNode(tuple(self._items()), line)
        return MapNode(tuple(self._entries()), line)

    def _alias(self, anchor: str | None, line: int) -> Node:
        if anchor is None or anchor not in self.anchors:
            raise self.source.error(line, f"yaml: unknown anchor '{excerpt(anchor)}' referenced")
        node = self.anchors[anchor]
        if node is None:
            raise self.source.error(line, f"yaml: anchor '{excerpt(anchor)}' value contains itself")
        return node

    def _items(self) -> Iterator[Node]:
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            yield self.node(event)

    def _entries(self) -> Iterator[Entry]:
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            merge = isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]
            key = self.node(event)
            line = event.start_mark.line + 1
            value = self.node(next(self.events))
            if merge:
                yield from self._merge(value, line)
            else:
                yield Entry(self._key(key), value, line)

    def _merge(self, value: Node, line: int) -> Iterator[Entry]:
        maps = value.items if isinstance(value, ListNode) else (value,)
        merged: dict[str, Entry] = {}
        for node in reversed(maps):  # the first one named wins
            if not isinstance(node, MapNode):
                raise self.source.error(line, "yaml: map merge requires map or sequence of maps as the value")
            self.source.count(len(node.entries), line)
            merged |= {entry.key: Entry(entry.key, entry.value, entry.line, merged=True) for entry in node.entries}
        yield from merged.values()

    def _key(self, node: Node) -> str:
        value = node.value if isinstance(node, ScalarNode) else None
        if value is None:
            raise self.source.error(node.line, "yaml: a key must be a word, not null, a list or a mapping")
        if isinstance(value, float) and not math.isfinite(value):
            raise self.source.error(node.line, "json: unsupported value: a key that is no number")
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value)

    def _scalar(self, event: Any) -> Scalar:
        resolved = event.implicit[0] if event.tag is None else event.tag in _RESOLVED_TAGS
        return resolve(event.value) if resolved else str(event.value)
