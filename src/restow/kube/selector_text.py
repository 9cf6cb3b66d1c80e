"""Reading label selectors written as text: ``a=b,c in (d,e),!f``.

A requirement is a key with an operator of ``= == != in notin > <``, or a key alone, with ``!`` for its absence. Words
and symbols are cut apart first; then each requirement is read from left to right with one word of foresight.
Source: ``labels.Parse``, apimachinery 0.36, with its texts of errors.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from restow.kube.field_errors import aggregate, invalid
from restow.kube.label_syntax import Operator, key_problems, requirement_problems

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Key, operator and sorted values of one requirement.
RequirementParts = tuple[str, Operator, tuple[str, ...]]

_SYMBOLS = frozenset({"=", "==", "!=", "!", "(", ")", ",", ">", "<"})
_TOKEN = re.compile(r"==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+")

_OPERATORS: dict[str, Operator] = {
    "in": "In",
    "notin": "NotIn",
    "=": "In",
    "==": "In",
    "!=": "NotIn",
    ">": "Gt",
    "<": "Lt",
}
#: How the message names the operators.
_EXPECTED_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_SETS = frozenset({"in", "notin"})


def read_requirements(text: str) -> list[RequirementParts]:
    """Read the requirements of a text in its order; ValueError has apimachinery's text."""
    return _Parser(text).requirements()


class _Parser:
    """Reads tokens once from left to right; the empty token is the end."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._position = 0

    def requirements(self) -> list[RequirementParts]:
        requirements: list[RequirementParts] = []
        while self._next_is_key_or("!", ""):
            if not self._next:
                return requirements
            try:
                requirements.append(self._requirement())
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from error
            if not self._ends_requirement():
                return requirements
        raise ValueError(f"found '{self._next}', expected: !, identifier, or 'end of string'")

    def _ends_requirement(self) -> bool:
        """Take the comma after a requirement; False at the end of the text."""
        found = self._take()
        if not found:
            return False
        if found != ",":
            raise ValueError(f"found '{found}', expected: ',' or 'end of string'")
        if not self._next_is_key_or("!"):
            raise ValueError(f"found '{self._next}', expected: identifier after ','")
        return True

    def _requirement(self) -> RequirementParts:
        absent = self._next == "!"
        if absent:
            self._take()
        key = self._key()
        if absent:
            return _checked(key, "DoesNotExist", ())
        if self._next in {"", ","}:
            return _checked(key, "Exists", ())
        symbol = self._take()
        if symbol not in _OPERATORS:
            raise ValueError(f"found '{symbol}', expected: {_EXPECTED_OPERATORS}")
        values = self._set() if symbol in _SETS else {self._single_value()}
        return _checked(key, _OPERATORS[symbol], sorted(values))

    def _key(self) -> str:
        key = self._take()
        if not _is_word(key):
            raise ValueError(f"found '{key}', expected: identifier")
        wrong = key_problems(key)
        if wrong:
            raise ValueError(invalid("<nil>", key, "; ".join(wrong)))
        return key

    def _single_value(self) -> str:
        if self._next in {"", ","}:
            return ""
        value = self._take()
        if not _is_word(value):
            raise ValueError(f"found '{value}', expected: identifier")
        return value

    def _set(self) -> set[str]:
        """Read the values between parentheses; nothing before, between or after commas is the empty value."""
        opening = self._take()
        if opening != "(":
            raise ValueError(f"found '{opening}' expected: '('")
        if not self._next_is_key_or(",", ")"):
            raise ValueError(f"found '{self._next}', expected: ',', ')' or identifier")
        values = {self._set_member(")")}
        while self._take() == ",":
            values.add(self._set_member(")"))
        return values

    def _set_member(self, closing: str) -> str:
        if self._next in {",", closing}:
            return ""
        value = self._take()
        if not _is_word(value):
            raise ValueError(f"found '{value}', expected: ',', or identifier")
        if self._next not in {",", closing}:
            raise ValueError(f"found '{self._next}', expected: ',' or ')'")
        return value

    @property
    def _next(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _next_is_key_or(self, *symbols: str) -> bool:
        return self._next in symbols or _is_word(self._next)

    def _take(self) -> str:
        token = self._next
        self._position += 1
        return token


def _is_word(token: str) -> bool:
    return bool(token) and token not in _SYMBOLS


def _checked(key: str, operator: Operator, values: Sequence[str]) -> RequirementParts:
    problems = requirement_problems(key, operator, values)
    if problems:
        raise ValueError(aggregate(problems))
    return key, operator, tuple(values)
