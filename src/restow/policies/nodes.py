"""The tree between a policy's text and its data: values that know their lines.

YAML and JSON are both read into this tree, because both must say on which line a field stands, and which keys were
written twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from restow.errors import InputError

if TYPE_CHECKING:
    from restow.kube.yaml_scalars import Scalar

#: Deeper than any policy; keeps a hostile file from exhausting the stack.
MAX_DEPTH = 64
#: More than any policy, with all aliases expanded; keeps a hostile file from exhausting memory and time.
MAX_VALUES = 100_000


@dataclass(slots=True, frozen=True)
class ScalarNode:
    """A string, number, boolean or null."""

    value: Scalar
    line: int


@dataclass(slots=True, frozen=True)
class ListNode:
    """A sequence."""

    items: tuple[Node, ...]
    line: int


@dataclass(slots=True, frozen=True)
class Entry:
    """One ``key: value``; ``merged`` came in by a YAML merge and may be written again."""

    key: str
    value: Node
    line: int
    merged: bool = False


@dataclass(slots=True, frozen=True)
class MapNode:
    """A mapping, in written order; a key may occur more than once, the last one counts."""

    entries: tuple[Entry, ...]
    line: int


Node = ScalarNode | ListNode | MapNode


class Source:
    """The file that is being read: its name, for errors that say where, and how much of it has been expanded."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.values = 0

    def error(self, line: int, message: str) -> InputError:
        """Return the exception that says on which line of this file what is wrong."""
        return InputError(f"{self.filename}:{line}: {message}")

    def check_depth(self, depth: int, line: int) -> None:
        """Refuse a document that is nested deeper than any policy."""
        if depth > MAX_DEPTH:
            raise self.error(line, f"nested more than {MAX_DEPTH} levels deep; this is not a policy")

    def count(self, values: int, line: int) -> None:
        """Refuse a document that expands into more values than any policy has."""
        self.values += values
        if self.values > MAX_VALUES:
            raise self.error(line, f"yaml: document contains excessive aliasing: more than {MAX_VALUES} values")
