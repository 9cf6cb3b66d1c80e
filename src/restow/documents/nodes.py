"""The tree between a file's text and its data: values that know their lines.

YAML and JSON are both read into this tree, because both must say on which line a field stands, and which keys were
written twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from msgspec import Struct

from restow.documents.findings import DocumentError, Finding, Path, path_text
from restow.documents.yaml_scalars import Scalar

#: Deeper than any configuration; keeps a hostile file from exhausting the stack.
MAX_DEPTH = 64


# Trees hold no cycles, so the garbage collector need not look at their many nodes.
class ScalarNode(Struct, frozen=True, gc=False):
    """A string, number, boolean or null."""

    value: Scalar
    line: int


class ListNode(Struct, frozen=True, gc=False):
    """A sequence."""

    items: tuple[Node, ...]
    line: int


class Entry(Struct, frozen=True, gc=False):
    """One ``key: value``; ``merged`` came in by a YAML merge and may be written again."""

    key: str
    value: Node
    line: int
    merged: bool = False


class MapNode(Struct, frozen=True, gc=False):
    """A mapping, in written order; a key may occur more than once, the last one counts."""

    entries: tuple[Entry, ...]
    line: int


Node = ScalarNode | ListNode | MapNode


@dataclass(slots=True, frozen=True)
class Source:
    """The file that is being read, for errors that say where."""

    filename: str
    #: What such a file is, with its article: "a DeschedulerPolicy".
    what: str
    deepest: int = MAX_DEPTH

    def error(self, line: int, message: str, path: Path = ()) -> DocumentError:
        """Return the exception that says on which line of this file what is wrong."""
        return DocumentError(Finding(self.filename, line, "error", path_text(path), message))

    def check_depth(self, depth: int, line: int) -> None:
        """Refuse a document that is nested too deeply."""
        if depth > self.deepest:
            raise self.error(line, f"nested more than {self.deepest} levels deep; this is not {self.what}")

    def check_number(self, node: ScalarNode, path: Path = ()) -> None:
        """Refuse numbers that JSON, into which the Go programs turn a file, cannot hold."""
        if isinstance(node.value, float) and not math.isfinite(node.value):
            raise self.error(node.line, "must be a finite number, which is all that JSON can hold", path)
