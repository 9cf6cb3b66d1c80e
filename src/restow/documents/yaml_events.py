"""The events of a YAML text, within bounds.

libyaml's own composer and PyYAML's constructors go as deep as a text does and take the interpreter with them, and a
few aliases of aliases stand for more than any memory holds. The event stream has neither fault, so depth and aliases
are counted here, for every reader of YAML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

#: Characters that the aliases of one document may add to what is written.
MOST_ADDED: Final = 16 << 20

_STARTS: Final = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_ENDS: Final = (yaml.MappingEndEvent, yaml.SequenceEndEvent)

#: Makes the exception of a line (1-based) and a message.
Refuse = Callable[[int, str], Exception]


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


#: Stands for an anchor that is not there, which the readers refuse themselves.
_UNKNOWN: Final = _Extent()


def bounded_events(text: str | bytes, deepest: int, what: str, refuse: Refuse) -> Iterator[Any]:
    """Yield libyaml's events; raise what ``refuse`` makes of a text that nests deeper or expands too far.

    ``what`` says in the message what such a text is not. YAMLError for what is no YAML.
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
            below += _alias(document, event, what, refuse)
        if below > deepest:
            raise refuse(_line(event), f"nested more than {deepest} levels deep; this is not {what}")
        yield event
        if kind is yaml.AliasEvent and document.anchors.get(event.anchor, _UNKNOWN) is None:
            # Readers of events have words of their own for it, and do not come back.
            raise refuse(_line(event), "an anchored value contains itself")


def _alias(document: _Document, event: Any, what: str, refuse: Refuse) -> int:
    """The levels that an alias adds; its characters are counted."""
    extent = document.anchors.get(event.anchor)
    if extent is None:
        return 0
    document.added += extent.size
    if document.added > MOST_ADDED:
        raise refuse(_line(event), f"excessive aliasing: more than {MOST_ADDED >> 20} MiB; this is not {what}")
    if document.open:
        document.open[-1].hold(extent)
    return extent.height


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
