"""Which nodes a pod asks for: nodeSelector, required and preferred node affinity.

Terms are ORed and the requirements inside a term ANDed; an empty term and an empty list of terms match nothing. A term
that does not parse matches nothing either, and its error surfaces only where no other term matches. Evaluating one
node at a time, this is the reference that ``cluster.node_matching`` is held equal to. Source: component-helpers
``scheduling/corev1/nodeaffinity``, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec import Struct

from restow.kube.labels import Requirement
from restow.kube.validation import Operator, aggregate, invalid, not_supported, requirement_problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from restow.kube.objects import LabelSelectorRequirement, NodeSelector, NodeSelectorTerm, PreferredSchedulingTerm

#: The only field of a node that terms can ask for.
NAME_FIELD = "metadata.name"

#: The path of a preferred term, each of which is read on its own.
_FIRST_TERM = "nodeSelectorTerms[0]"
_EXPRESSION_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")


class SelectorTerm(Struct, frozen=True):
    """One term of a node selector."""

    #: On labels.
    expressions: tuple[Requirement, ...] = ()
    #: On fields, each In or NotIn with one value; in a term that does not parse they are as they are written.
    fields: tuple[Requirement, ...] = ()
    #: Why the term does not parse, one text for each bad requirement.
    problems: tuple[str, ...] = ()

    @property
    def error(self) -> str | None:
        """All problems as one text; None when the term parses."""
        return aggregate(self.problems) if self.problems else None

    def matches(self, node_name: str, labels: Mapping[str, str]) -> bool:
        """Whether a node satisfies the term; never when it is empty or does not parse."""
        if self.problems or not (self.expressions or self.fields):
            return False
        fields = {NAME_FIELD: node_name}
        return all(each.matches(labels) for each in self.expressions) and all(
            (fields.get(each.key, "") == each.values[0]) == (each.operator == "In") for each in self.fields
        )


class WeightedTerm(Struct, frozen=True):
    """A preferred term."""

    term: SelectorTerm
    weight: int


class NodeSelection(Struct, frozen=True):
    """What a pod requires of its node."""

    #: nodeSelector: labels that must be equal, by key.
    labels: tuple[tuple[str, str], ...]
    #: Terms of the required node affinity; None when the pod has none.
    terms: tuple[SelectorTerm, ...] | None

    @staticmethod
    def compile(node_selector: Mapping[str, str] | None, required: NodeSelector | None) -> NodeSelection:
        """Return the selection of a pod with these two fields; errors in them stay with their terms."""
        labels = tuple(sorted((node_selector or {}).items()))
        if required is None:
            return NodeSelection(labels, None)
        terms = enumerate(required.node_selector_terms or ())
        return NodeSelection(labels, tuple(_compile_term(term, f"nodeSelectorTerms[{i}]") for i, term in terms))

    def matches(self, node_name: str, labels: Mapping[str, str]) -> bool:
        """Whether a node satisfies the selection.

        Raises ValueError with apimachinery's text when no term matches and some term does not parse.
        """
        if any(labels.get(key) != value for key, value in self.labels):
            return False
        if self.terms is None:
            return True
        if any(term.matches(node_name, labels) for term in self.terms):
            return True
        problems = [problem for term in self.terms for problem in term.problems]
        if problems:
            raise ValueError(aggregate(problems))
        return False


def compile_preferred(terms: Iterable[PreferredSchedulingTerm] | None) -> tuple[WeightedTerm, ...]:
    """Return the preferred terms of a pod; one that does not parse never matches."""
    return tuple(WeightedTerm(_compile_term(term.preference, _FIRST_TERM), term.weight) for term in terms or ())


def preference_problem(terms: Iterable[WeightedTerm]) -> str | None:
    """Return why preferred terms cannot be read, in apimachinery's words; None where they can."""
    problems = [
        problem.replace(_FIRST_TERM, f"[{index}]", 1)
        for index, weighted in enumerate(terms)
        if weighted.weight
        for problem in weighted.term.problems
    ]
    return aggregate(problems) if problems else None


def _compile_term(term: NodeSelectorTerm, path: str) -> SelectorTerm:
    expressions = term.match_expressions or ()
    fields = term.match_fields or ()
    problems = [
        problem
        for i, wire in enumerate(expressions)
        for problem in _expression_problems(wire, f"{path}.matchExpressions[{i}]")
    ]
    problems += [
        problem for i, wire in enumerate(fields) for problem in _field_problems(wire, f"{path}.matchFields[{i}]")
    ]
    if problems:
        return SelectorTerm(fields=tuple(map(_requirement, fields)), problems=tuple(problems))
    return SelectorTerm(tuple(map(_requirement, expressions)), tuple(map(_requirement, fields)))


def _requirement(wire: LabelSelectorRequirement) -> Requirement:
    return Requirement(wire.key, cast("Operator", wire.operator), wire.values or ())


def _expression_problems(wire: LabelSelectorRequirement, path: str) -> list[str]:
    if wire.operator not in _EXPRESSION_OPERATORS:
        return [not_supported(f"{path}.operator", wire.operator, _EXPRESSION_OPERATORS)]
    return requirement_problems(wire.key, cast("Operator", wire.operator), wire.values, path)


def _field_problems(wire: LabelSelectorRequirement, path: str) -> list[str]:
    if wire.operator not in _FIELD_OPERATORS:
        return [not_supported(f"{path}.operator", wire.operator, _FIELD_OPERATORS)]
    if len(wire.values or ()) != 1:
        return [invalid(f"{path}.values", wire.values, "must have one element")]
    return []
