"""Field selectors written as text: ``metadata.name=a,status.phase!=Failed``.

Only equality exists. A comma, an equals sign or a backslash in a value is written with a backslash before it; an
absent field counts as empty. Source: ``fields.ParseSelector``, apimachinery 0.36, with its texts of errors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_TERM = re.compile(r"(?:[^\\,]|\\.|\\$)*", re.DOTALL)
_OPERATOR = re.compile(r"!=|==|=")
_ESCAPED = re.compile(r"\\(.?)|([,=])", re.DOTALL)
_ESCAPES = str.maketrans({char: f"\\{char}" for char in r"\,="})


@dataclass(slots=True, frozen=True)
class FieldRequirement:
    """One field that must have, or not have, a value."""

    field: str
    value: str
    equal: bool = True

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether the fields satisfy it."""
        return (fields.get(self.field, "") == self.value) == self.equal

    def __str__(self) -> str:
        """Return the text that ``parse_field_selector`` reads."""
        return f"{self.field}{'=' if self.equal else '!='}{self.value.translate(_ESCAPES)}"


@dataclass(slots=True, frozen=True)
class FieldSelector:
    """Requirements that must all hold."""

    requirements: tuple[FieldRequirement, ...] = ()

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether the fields satisfy every requirement."""
        return all(requirement.matches(fields) for requirement in self.requirements)

    def __str__(self) -> str:
        """Return the text that ``parse_field_selector`` reads."""
        return ",".join(map(str, self.requirements))


def parse_field_selector(text: str) -> FieldSelector:
    """Read a selector; an empty text matches everything, as does ``=``. ValueError has apimachinery's text."""
    requirements = [_requirement(term, text) for term in sorted(_TERM.findall(text)) if term]
    return FieldSelector(tuple(each for each in requirements if each.field or each.value))


def _requirement(term: str, text: str) -> FieldRequirement:
    operator = _OPERATOR.search(term)
    if operator is None:
        raise ValueError(f"invalid selector: '{text}'; can't understand '{term}'")
    value = _ESCAPED.sub(_unescape, term[operator.end() :])
    return FieldRequirement(term[: operator.start()], value, equal=operator[0] != "!=")


def _unescape(match: re.Match[str]) -> str:
    escaped, bare = match.groups()
    if bare:
        raise ValueError(f"invalid field selector: unescaped character in value: {ord(bare)}")
    if escaped not in {"\\", ",", "="}:
        raise ValueError(f"invalid field selector: invalid escape sequence: {match[0]}")
    return str(escaped)
