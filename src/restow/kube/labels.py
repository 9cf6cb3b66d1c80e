"""Label selectors: which sets of labels a selection matches.

Every way to write a selector (``metav1.LabelSelector``, a plain map, the command line's text) becomes a Selector: a
tuple of requirements that must all hold. Equality is a requirement with one value: ``a=b`` is ``In (b)`` and ``a!=b``
is ``NotIn (b)``. Values are frozen and hashable, so that a selector can be the key of a cache. Source:
``labels.Selector`` and ``LabelSelectorAsSelector``, apimachinery 0.36; ``Gt`` and ``Lt`` occur in node selectors and
in texts only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from restow.kube.field_errors import aggregate, quote
from restow.kube.label_syntax import Operator, parse_integer, requirement_problems
from restow.kube.selector_text import read_requirements

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from restow.kube.objects import LabelSelector, LabelSelectorRequirement

#: The operators of a label selector in an object.
_LABEL_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


@dataclass(slots=True, frozen=True)
class Requirement:
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

    def __post_init__(self) -> None:
        """Cache the hash."""
        object.__setattr__(self, "_hash", hash((self.requirements, self.selectable)))

    def __hash__(self) -> int:
        return self._hash

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels satisfy every requirement."""
        if not self.selectable:
            return False
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
    return _sorted(Requirement(*parts) for parts in read_requirements(text))


def selector_of_labels(labels: Mapping[str, str] | None) -> Selector:
    """Return the selector of a plain map (Service, ReplicationController): every label equal; not validated."""
    return _sorted(Requirement(key, "In", (value,)) for key, value in (labels or {}).items())


def selector_from(selector: LabelSelector | None) -> Selector:
    """Return the selector of an API object: absent matches nothing, empty matches everything.

    Raises ValueError with apimachinery's text for the first bad requirement; labels are taken by key (upstream: at
    random).
    """
    if selector is None:
        return NOTHING
    labels = sorted((selector.match_labels or {}).items())
    expressions = selector.match_expressions or ()
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
