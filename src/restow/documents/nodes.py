"""The tree between a file's text and its data: values that know their lines.

YAML and JSON are both read into this tree, because both must say on which line a field stands, and which keys were
written twice.
"""

from __future__ import annotations

import math
import re

from msgspec import Struct

from restow.documents.findings import DocumentError, Finding, Path, path_text

#: What a document is made of.
Scalar = str | int | float | bool | None

#: Deeper than any configuration; keeps a hostile file from exhausting the stack.
MAX_DEPTH = 64

_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULL = ("", "~", "null", "Null", "NULL")
_NAN = (".nan", ".NaN", ".NAN")
_INFINITE = (".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF")

_WORDS: dict[str, Scalar] = (
    dict.fromkeys(_TRUE, True)
    | dict.fromkeys(_FALSE, False)
    | dict.fromkeys(_NULL, None)
    | dict.fromkeys(_NAN, math.nan)
    | dict.fromkeys(_INFINITE, math.inf)
)

_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|(?P<dec>0|[1-9][0-9]*))"
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASES = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}

_MIN_INTEGER = -(2**63)
_MAX_INTEGER = 2**64 - 1
#: From here on JSON writes a float with an exponent, which no integer field reads.
_EXPONENT_FROM = 1e21
#: No 64-bit integer has more digits in any base; a longer literal is a float.
_MAX_DIGITS = 64


# Trees hold no cycles, so the garbage collector need not look at their many nodes.
class ScalarNode(Struct, frozen=True, gc=False):
    """A string, number, boolean or null."""

    value: Scalar
    line: int


class ListNode(Struct, frozen=True, gc=False):
    """A sequence."""

    items: tuple[Node, ...]
    line: int


class MappingEntry(Struct, frozen=True, gc=False):
    """One ``key: value``; ``merged`` came in by a YAML merge and may be written again."""

    key: str
    value: Node
    line: int
    merged: bool = False


class MapNode(Struct, frozen=True, gc=False):
    """A mapping, in written order; a key may occur more than once, the last one counts."""

    entries: tuple[MappingEntry, ...]
    line: int


Node = ScalarNode | ListNode | MapNode


class Source(Struct, frozen=True):
    """The file that is being read, for errors that say where."""

    filename: str
    #: What such a file is called, with its article: "a DeschedulerPolicy".
    what: str
    deepest: int = MAX_DEPTH

    def error(self, line: int, message: str, path: Path = ()) -> DocumentError:
        """Return the exception that says on which line of this file what is wrong."""
        return DocumentError(Finding(self.filename, line, "error", path_text(path), message))

    def check_depth(self, depth: int, line: int) -> None:
        """Refuse a document that is nested too deeply."""
        if depth > self.deepest:
            raise self.too_deep(line)

    def too_deep(self, line: int) -> DocumentError:
        """Return the exception for a document that is nested too deeply."""
        return self.error(line, f"nested more than {self.deepest} levels deep; this is not {self.what}")

    def check_number(self, node: ScalarNode, path: Path = ()) -> None:
        """Refuse numbers that JSON, into which the Go programs turn a file, cannot hold."""
        if isinstance(node.value, float) and not math.isfinite(node.value):
            raise self.error(node.line, "must be a finite number, which is all that JSON can hold", path)


# They read YAML 1.1 with their own edges: ``yes``, ``on`` and ``y`` are booleans, ``0o17`` and ``017`` are octal,
# ``1_000`` is a number, base-60 numbers and timestamps are text. Then they write JSON and read that, where 5.0 has
# become 5. PyYAML's resolver differs in most of these, so it is not used. Source: sigs.k8s.io/yaml 1.6, with its YAML
# 2 parser.
def resolve(text: str) -> Scalar:
    """Return the value of an unquoted scalar; not-a-number and infinities are floats."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    number = _integer(text)
    return number if number is not None else _float(text)


def _integer(text: str) -> int | None:
    match = _INTEGER.fullmatch(text.replace("_", ""))
    if match is None or match.lastgroup is None:
        return None
    digits = match[match.lastgroup]
    if len(digits) > _MAX_DIGITS:
        return None
    number = int(f"{match['sign']}{digits}", _BASES[match.lastgroup])
    return number if _MIN_INTEGER <= number <= _MAX_INTEGER else None


def _float(text: str) -> Scalar:
    plain = text.replace("_", "")
    number = float(plain) if _FLOAT.fullmatch(plain) else math.inf
    if math.isinf(number):
        return text
    return int(number) if number.is_integer() and abs(number) < _EXPONENT_FROM else number
