"""JSON text to a tree of values with lines.

The standard decoder knows neither lines nor repeated keys, and numbers must keep whether they were written as
integers: to a Go program 5.0 is no integer. So this is a reader of its own; strings are left to the standard one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from typing import TYPE_CHECKING

from restow.documents.nodes import ListNode, MapNode, MappingEntry, Node, ScalarNode, Source

if TYPE_CHECKING:
    from restow.documents.nodes import Scalar
    from restow.errors import InputError

_STRINGS = JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Scalar] = {"true": True, "false": False, "null": None}
#: Longer literals are no 64-bit integers.
_MAX_DIGITS = 20


def read_json(text: str, source: Source) -> Node:
    """Return the tree of a JSON document. Raises InputError with file and line if it is not one."""
    reader = _Reader(text, source)
    root = reader.value(depth=0)
    reader.skip_space()
    if reader.position < len(text):
        raise reader.error("unexpected text after the end of the JSON document")
    return root


@dataclass(slots=True)
class _Reader:
    """Walks the text once; ``counted`` and ``line`` remember how far lines have been counted."""

    text: str
    source: Source
    position: int = 0
    counted: int = 0
    line: int = 1

    def error(self, message: str) -> InputError:
        return self.source.error(self._line(), f"not valid JSON: {message}")

    def skip_space(self) -> str:
        """Move to the next character that is not space, and return it ("" at the end)."""
        match = _SPACE.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return self.text[self.position : self.position + 1]

    def value(self, depth: int) -> Node:
        start = self.skip_space()
        line = self._line()
        self.source.check_depth(depth, line)
        if start == "{":
            return MapNode(tuple(self._entries(depth)), line)
        if start == "[":
            return ListNode(tuple(self._items(depth)), line)
        return ScalarNode(self._string() if start == '"' else self._word(), line)

    def _line(self) -> int:
        self.line += self.text.count("\n", self.counted, self.position)
        self.counted = self.position
        return self.line

    def _take(self, characters: str) -> str:
        found = self.skip_space()
        if not found or found not in characters:
            expected = " or ".join(f'"{character}"' for character in characters)
            raise self.error(
                f"expected {expected}, found {found!r}" if found else f"it ends where {expected} should be"
            )
        self.position += 1
        return found

    def _items(self, depth: int) -> list[Node]:
        self._take("[")
        items: list[Node] = []
        if self.skip_space() == "]":
            self.position += 1
            return items
        while True:
            items.append(self.value(depth + 1))
            if self._take(",]") == "]":
                return items

    def _entries(self, depth: int) -> list[MappingEntry]:
        self._take("{")
        entries: list[MappingEntry] = []
        if self.skip_space() == "}":
            self.position += 1
            return entries
        while True:
            self.skip_space()
            line = self._line()
            key = self._string()
            self._take(":")
            entries.append(MappingEntry(key, self.value(depth + 1), line))
            if self._take(",}") == "}":
                return entries

    def _string(self) -> str:
        if self.skip_space() != '"':
            raise self.error("expected a string in double quotes")
        try:
            value, self.position = _STRINGS.raw_decode(self.text, self.position)
        except JSONDecodeError as error:
            self.position = min(error.pos, len(self.text))
            raise self.error(error.msg) from None
        # A lone surrogate cannot be written anywhere; Go reads a replacement character.
        return str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _word(self) -> Scalar:
        for word, value in _WORDS.items():
            if self.text.startswith(word, self.position):
                self.position += len(word)
                return value
        match = _NUMBER.match(self.text, self.position)
        if match is None:
            raise self.error("expected a value")
        self.position = match.end()
        integral = match[1] is None and match[2] is None and len(match[0]) <= _MAX_DIGITS
        return int(match[0]) if integral else float(match[0])
