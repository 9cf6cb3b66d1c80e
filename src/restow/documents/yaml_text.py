"""YAML text to trees of values with lines, and plain data to YAML, as the Go programs understand both.

libyaml's event stream is read directly: it has the lines and the anchors, its depth and size are bounded here, and the
meaning of scalars stays ours (``documents.nodes``). Go reads more words as booleans and numbers than PyYAML (``y``,
``0o7``), so text that either would misread is written in quotes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from restow.documents.nodes import ListNode, MapNode, MappingEntry, Node, Scalar, ScalarNode, Source, resolve
from restow.kube.excerpts import excerpt

_STANDARD = "tag:yaml.org,2002:"
_RESOLVED_TAGS = {f"{_STANDARD}{name}" for name in ("bool", "int", "float", "null", "timestamp")}
#: The key whose value is a mapping to take over.
_MERGE = "<<"

#: Characters that the aliases of one document may add to what is written.
MOST_ADDED: Final = 16 << 20

#: The message of libyaml 0.2.6 and later for a text that nests deeper than its own bound; it yields no events then.
_LIBYAML_TOO_DEEP: Final = "exceeded maximum nesting depth"

_STARTS: Final = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_ENDS: Final = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


# libyaml's own composer and PyYAML's constructors go as deep as a text does and take the interpreter with them, and a
# few aliases of aliases stand for more than any memory holds. The event stream has neither fault, so depth and
# aliases are counted here, for every reader of YAML.
@dataclass(slots=True)
class _Extent:
    """A value: its characters, and the levels below it."""

    anchor: str | None = None
    size: int = 1
    height: int = 0

    def hold(self, inner: _Extent) -> None:
        self.size += inner.size
        if inner.height >= self.height:
            self.height = inner.height + 1


@dataclass(slots=True)
class _Document:
    """What is open of a document, and the anchors of it; None while their value is being read."""

    open: list[_Extent] = field(default_factory=list)
    anchors: dict[str, _Extent | None] = field(default_factory=dict)
    added: int = 0

    def scalar(self, event: Any) -> None:
        size = len(event.value) + 1
        if event.anchor is not None:
            self.anchors[event.anchor] = _Extent(event.anchor, size)
        if self.open:
            around = self.open[-1]
            around.size += size
            around.height = around.height or 1

    def start(self, event: Any) -> None:
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self.open.append(_Extent(event.anchor))

    def end(self, extent: _Extent) -> None:
        if extent.anchor is not None:
            self.anchors[extent.anchor] = extent
        if self.open:
            self.open[-1].hold(extent)


#: For an anchor that does not exist, which the readers refuse themselves.
_UNKNOWN: Final = _Extent()


def read_yaml(text: bytes, source: Source) -> Iterator[Node]:
    """Yield each document of a stream.

    Raises InputError with file and line for anything that is not YAML, and for keys that JSON, into which the Go
    programs turn a file, cannot hold.
    """
    events = _bounded_events(text, source)
    try:
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                yield _Reader(events, source).node(next(events))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        if error.problem == _LIBYAML_TOO_DEEP:
            raise source.too_deep(line) from None
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

    def _entries(self) -> Iterator[MappingEntry]:
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.node(event)
            value = self.node(next(self.events))
            if type(event) is yaml.ScalarEvent and event.value == _MERGE and event.implicit[0]:
                yield from self._merge(value, key.line)
            else:
                yield MappingEntry(self._key(key), value, event.start_mark.line + 1)

    def _merge(self, value: Node, line: int) -> Iterator[MappingEntry]:
        """Yield what a merge key takes over: of several mappings the first one that has a key counts."""
        maps = value.items if isinstance(value, ListNode) else (value,)
        merged: dict[str, MappingEntry] = {}
        for node in reversed(maps):
            if not isinstance(node, MapNode):
                raise self.source.error(line, "a merge key (<<) takes a mapping or a list of mappings")
            merged |= {
                entry.key: MappingEntry(entry.key, entry.value, entry.line, merged=True) for entry in node.entries
            }
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


def _bounded_events(text: str | bytes, source: Source) -> Iterator[Any]:
    """Yield libyaml's events; raise InputError for a text that nests too deeply or expands too far.

    YAMLError for what is no YAML.
    """
    document = _Document()
    events: Iterator[Any] = yaml.parse(text, Loader=yaml.CSafeLoader)
    for event in events:
        kind: Any = type(event)
        if kind is yaml.DocumentStartEvent:
            document = _Document()
        below = len(document.open)
        if kind is yaml.ScalarEvent:
            document.scalar(event)
        elif kind in _STARTS:
            document.start(event)
        elif kind in _ENDS:
            document.end(document.open.pop())
        elif kind is yaml.AliasEvent:
            below += _alias(document, event, source)
        source.check_depth(below, _line(event))
        yield event
        if kind is yaml.AliasEvent and document.anchors.get(event.anchor, _UNKNOWN) is None:
            # Readers of events have words of their own for it, and do not come back.
            raise source.error(_line(event), "an anchored value contains itself")


def _alias(document: _Document, event: Any, source: Source) -> int:
    """The levels that an alias adds; its characters are counted."""
    extent = document.anchors.get(event.anchor)
    if extent is None:
        return 0
    document.added += extent.size
    if document.added > MOST_ADDED:
        message = f"excessive aliasing: more than {MOST_ADDED >> 20} MiB; this is not {source.what}"
        raise source.error(_line(event), message)
    if document.open:
        document.open[-1].hold(extent)
    return extent.height


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


class _Dumper(yaml.CSafeDumper):
    """Writes mappings in their own order, lists indented, and never an alias."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # A text of several lines is a file inside the document; it stays readable as a block.
    style = "|" if "\n" in text else None if isinstance(resolve(text), str) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def write_yaml(document: dict[str, Any]) -> str:
    """Return a document of plain data as YAML that a terminal shows as it is."""
    text = _dumped(document, allow_unicode=True)
    # PyYAML leaves marks that reorder a line as they are; then everything beyond ASCII is escaped.
    return text if text.replace("\n", "").isprintable() else _dumped(document, allow_unicode=False)


def _dumped(document: dict[str, Any], *, allow_unicode: bool) -> str:
    return str(yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=allow_unicode, width=100))
