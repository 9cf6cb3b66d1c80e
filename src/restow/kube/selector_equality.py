"""Whether two required node affinities ask for the same, by the Descheduler's notion of the same.

Values and requirements are compared as sets; terms keep their order and only neighbours that are equal collapse.
Source: ``NodeSelectorsEqual``, Descheduler 0.36, by which RemoveDuplicates tells which nodes are open to a pod.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from restow.kube.objects import LabelSelectorRequirement, NodeSelector, NodeSelectorTerm

#: (key, operator, values); an absent list differs from an empty one.
RequirementKey = tuple[str, str, tuple[str, ...] | None]
Requirements = tuple[RequirementKey, ...] | None
#: (matchExpressions, matchFields) of each term.
NodeSelectorKey = tuple[tuple[Requirements, Requirements], ...]


def canonical_node_selector(selector: NodeSelector | None) -> NodeSelectorKey | None:
    """Return a form in which two selectors are equal when upstream finds them so; None for no selector."""
    if selector is None:
        return None
    terms = [_canonical_term(term) for term in selector.node_selector_terms or ()]
    return tuple(term for term, _ in groupby(terms))


def _canonical_term(term: NodeSelectorTerm) -> tuple[Requirements, Requirements]:
    return _canonical_requirements(term.match_expressions), _canonical_requirements(term.match_fields)


def _canonical_requirements(wire: tuple[LabelSelectorRequirement, ...] | None) -> Requirements:
    if wire is None:
        return None
    return tuple(sorted({_canonical_requirement(each) for each in wire}, key=_order))


def _canonical_requirement(wire: LabelSelectorRequirement) -> RequirementKey:
    values = None if wire.values is None else tuple(sorted(set(wire.values)))
    return wire.key, wire.operator, values


def _order(requirement: RequirementKey) -> tuple[str, str, int, bool, tuple[str, ...]]:
    key, operator, values = requirement
    return key, operator, len(values or ()), values is not None, values or ()
