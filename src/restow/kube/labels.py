"""Label selectors: which sets of labels a selection matches.

Every way to write a selector (``metav1.LabelSelector``, a plain map, the command line's text) becomes a Selector: a
tuple of requirements that must all hold. Equality is a requirement with one value: ``a=b`` is ``In (b)`` and ``a!=b``
is ``NotIn (b)``. Values are frozen and hashable, so that a selector can be the key of a cache. Source:
``labels.Selector`` and ``LabelSelectorAsSelector``, apimachinery 0.36; ``Gt`` and ``Lt`` occur in node selectors and
in texts only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct

from restow.kube.numbers import parse_integer
from restow.kube.validation import (
    Operator,
    aggregate,
    invalid,
    key_problems,
    quote,
    requirement_problems,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from restow.kube.objects import LabelSelector, LabelSelectorRequirement

#: How many selectors are remembered: each plan asks for those of all workloads, budgets and constraints again.
_REMEMBERED: Final = 1 << 16
#: The operators of a label selector in an object.
_LABEL_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})

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


class Requirement(Struct, frozen=True):
    """One condition on one label."""

    key: str
    operator: Operator
    #: Empty for Exists and DoesNotExist, exactly one integer for Gt and Lt.
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels satisfy it. NotIn and DoesNotExist hold when the key is absent, all others do not."""
        value = labels.get(self.key)
        if value is None:
            return self.operator in {"NotIn", "DoesNotExist"}
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Gt":
                return _is_less(self.values[0], value)
            case "Lt":
                return _is_less(value, self.values[0])
            case "Exists" | "DoesNotExist":
                return self.operator == "Exists"

    def __str__(self) -> str:
        """Return the text that ``parse_selector`` reads."""
        match self.operator:
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
            case "Gt":
                return f"{self.key}>{self.values[0]}"
            case "Lt":
                return f"{self.key}<{self.values[0]}"
            case "In" | "NotIn":
                return self._with_values()

    def _with_values(self) -> str:
        if len(self.values) == 1:
            return f"{self.key}{'=' if self.operator == 'In' else '!='}{self.values[0]}"
        return f"{self.key} {self.operator.lower()} ({','.join(sorted(self.values))})"


@dataclass(slots=True, frozen=True)
class Selector:
    """Requirements that must all hold, sorted by key."""

    requirements: tuple[Requirement, ...] = ()
    #: False only for NOTHING.
    selectable: bool = True
    #: Worked out once: caches ask for it again and again.
    _hash: int = field(init=False, repr=False, compare=False)
    #: The labels that it asks for, where it asks for nothing else: so do nearly all.
    _equal: tuple[tuple[str, str], ...] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Work out what is asked for again and again."""
        object.__setattr__(self, "_hash", hash((self.requirements, self.selectable)))
        plain = all(each.operator == "In" and len(each.values) == 1 for each in self.requirements)
        equal = tuple([(each.key, each.values[0]) for each in self.requirements]) if plain else None
        object.__setattr__(self, "_equal", equal)

    def __hash__(self) -> int:
        return self._hash

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels satisfy every requirement."""
        if not self.selectable:
            return False
        if self._equal is not None:
            for key, value in self._equal:  # noqa: SIM110 - a generator would cost half of the time
                if labels.get(key) != value:
                    return False
            return True
        for requirement in self.requirements:  # noqa: SIM110 - a generator would cost half of the time
            if not requirement.matches(labels):
                return False
        return True

    def keys(self) -> frozenset[str]:
        """Return the label keys that decide."""
        return frozenset(requirement.key for requirement in self.requirements)

    def __str__(self) -> str:
        """Return the text that ``parse_selector`` reads; empty for EVERYTHING and NOTHING."""
        return ",".join(map(str, self.requirements))


#: Matches every set of labels.
EVERYTHING = Selector()
#: Matches no set of labels.
NOTHING = Selector(selectable=False)


def _is_less(lower: str, upper: str) -> bool:
    low, high = parse_integer(lower), parse_integer(upper)
    return low is not None and high is not None and low < high


def _sorted(requirements: Iterable[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda each: each.key)))


def parse_selector(text: str) -> Selector:
    """Read a text such as ``a=b,c in (d,e),!f``; an empty one matches everything.

    Raises ValueError with apimachinery's text.
    """
    return _sorted(_Parser(text).requirements())


def selector_of_labels(labels: Mapping[str, str] | None) -> Selector:
    """Return the selector of a plain map (Service, ReplicationController): every label equal; not validated."""
    return _of_labels(tuple((labels or {}).items()))


@lru_cache(_REMEMBERED)
def _of_labels(labels: tuple[tuple[str, str], ...]) -> Selector:
    return _sorted(Requirement(key, "In", (value,)) for key, value in labels)


def selector_from(selector: LabelSelector | None) -> Selector:
    """Return the selector of an API object: absent matches nothing, empty matches everything.

    Raises ValueError with apimachinery's text for the first bad requirement; labels are taken by key (upstream: at
    random).
    """
    if selector is None:
        return NOTHING
    return _of_parts(tuple(sorted((selector.match_labels or {}).items())), selector.match_expressions or ())


@lru_cache(_REMEMBERED)
def _of_parts(labels: tuple[tuple[str, str], ...], expressions: tuple[LabelSelectorRequirement, ...]) -> Selector:
    return _sorted(
        [_checked(key, "In", (value,)) for key, value in labels] + [_from_expression(each) for each in expressions]
    )


def _from_expression(expression: LabelSelectorRequirement) -> Requirement:
    if expression.operator not in _LABEL_OPERATORS:
        raise ValueError(f"{quote(expression.operator)} is not a valid label selector operator")
    return _checked(expression.key, cast("Operator", expression.operator), expression.values or None)


def _checked(key: str, operator: Operator, values: tuple[str, ...] | None) -> Requirement:
    problems = requirement_problems(key, operator, values)
    if problems:
        raise ValueError(aggregate(problems))
    return Requirement(key, operator, values or ())


class _Parser:
    """Reads a selector's text: ``a=b,c in (d,e),!f``.

    Words and symbols are cut apart first; then each requirement is read from left to right with one word of foresight.
    The empty token is the end. Source: ``labels.Parse``, apimachinery 0.36, with its texts of errors.
    """

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._position = 0

    def requirements(self) -> list[Requirement]:
        requirements: list[Requirement] = []
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

    def _requirement(self) -> Requirement:
        absent = self._next == "!"
        if absent:
            self._take()
        key = self._key()
        if absent:
            return _checked(key, "DoesNotExist", None)
        if self._next in {"", ","}:
            return _checked(key, "Exists", None)
        symbol = self._take()
        if symbol not in _OPERATORS:
            raise ValueError(f"found '{symbol}', expected: {_EXPECTED_OPERATORS}")
        values = self._set() if symbol in _SETS else {self._single_value()}
        return _checked(key, _OPERATORS[symbol], tuple(sorted(values)))

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
