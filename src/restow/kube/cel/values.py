"""Values that expressions have beyond those of Python: versions, optional values, and maps with a default.

Integers are those of int64, and a bool is no number. Quantities are ``kube.quantity``'s.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Any, Final

from msgspec import Struct

from restow.kube.cel.errors import EvaluationError
from restow.kube.quantity import Quantity

_VERSION: Final = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-((?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?"
)
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


@total_ordering
@dataclass(slots=True, frozen=True)
class Version:
    """A semantic version; build metadata takes no part in comparison."""

    release: tuple[int, int, int]
    pre: tuple[str, ...] = ()

    def __lt__(self, other: Version) -> bool:
        if self.release != other.release:
            return self.release < other.release
        if not self.pre or not other.pre:
            return bool(self.pre) and not other.pre
        return [_of_identifier(each) for each in self.pre] < [_of_identifier(each) for each in other.pre]


def parse_version(text: str) -> Version | None:
    """A version by semver 2.0.0; None for another text."""
    found = _VERSION.fullmatch(text)
    if found is None or max(map(int, found.groups()[:3])) >= 2**64:
        return None
    major, minor, patch = map(int, found.groups()[:3])
    return Version((major, minor, patch), tuple(found[4].split(".")) if found[4] else ())


def _of_identifier(text: str) -> tuple[int, int, str]:
    """Numbers come before texts."""
    return (0, int(text), "") if text.isdigit() else (1, 0, text)


class Optional(Struct, frozen=True):
    """A value that may be missing."""

    value: Any = None
    is_present: bool = False


NONE: Final = Optional()


class WithDefault(dict[str, Any]):
    """A map in which an unknown key is an empty map. Source: device.attributes and device.capacity, Kubernetes 1.36."""

    def __missing__(self, key: str) -> Any:
        return {}


def number(value: int) -> int:
    """An integer that int64 holds."""
    if not _SMALLEST <= value <= _LARGEST:
        raise EvaluationError("integer overflow")
    return value


def is_number(value: Any) -> bool:
    """Whether a value is an integer or a double."""
    return type(value) in (int, float)


def equal(left: Any, right: Any) -> bool:
    """``==``: values of different types are different, but for numbers."""
    if is_number(left) and is_number(right):
        return bool(left == right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    return type(left) is type(right) and bool(left == right)


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1; EvaluationError where there is no order."""
    comparable = (is_number(left) and is_number(right)) or (type(left) is type(right) and isinstance(left, str | bool))
    if not comparable:
        raise EvaluationError("no such overload")
    return int(left > right) - int(left < right)


def ordered(left: Any, right: Any, kind: type[Quantity | Version]) -> int:
    """``compareTo`` of two quantities or two versions."""
    if not isinstance(left, kind) or not isinstance(right, kind):
        raise EvaluationError("no such overload")
    return int(left > right) - int(left < right)  # type: ignore[operator]
