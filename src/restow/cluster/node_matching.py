"""Which nodes a selection matches, for all nodes at once.

The same rules as ``kube.node_selection`` (its reference implementation, held equal by a property test), evaluated on
label columns: one array operation a requirement instead of one look-up a node. Source: nodeSelector and required node
affinity, component-helpers ``scheduling/corev1/nodeaffinity``, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray
from restow.cluster.nodes import NO_LABEL, LabelColumn, Nodes
from restow.kube.labels import Requirement
from restow.kube.node_selection import NAME_FIELD, NodeSelection, SelectorTerm, WeightedTerm
from restow.kube.numbers import parse_integer


def matches(selection: NodeSelection, nodes: Nodes) -> BoolArray:
    """Which nodes match, bool[node]; a term that does not parse matches nothing."""
    result = np.ones(len(nodes), dtype=bool)
    for key, value in selection.labels:
        column = nodes.label_column(key)
        result &= column.codes == column.code(value)
    if selection.terms is not None:
        result &= _any_term(selection.terms, nodes)
    return result


def fails_to_parse(selection: NodeSelection, nodes: Nodes) -> BoolArray:
    """On which nodes upstream would return a parse error instead of an answer, bool[node].

    That is where the node selector matches, some term does not parse, and no other term matches.
    """
    if selection.terms is None or all(term.error is None for term in selection.terms):
        return np.zeros(len(nodes), dtype=bool)
    by_labels = matches(NodeSelection(labels=selection.labels, terms=None), nodes)
    return by_labels & ~_any_term(selection.terms, nodes)


def preferred_weights(terms: Sequence[WeightedTerm], nodes: Nodes) -> npt.NDArray[np.int64]:
    """Sum of the weights of the preferred terms that match each node, int64[node]."""
    weights = np.zeros(len(nodes), dtype=np.int64)
    for weighted in terms:
        weights[_term(weighted.term, nodes)] += weighted.weight
    return weights


def _any_term(terms: Sequence[SelectorTerm], nodes: Nodes) -> BoolArray:
    result = np.zeros(len(nodes), dtype=bool)
    for term in terms:
        result |= _term(term, nodes)
    return result


def _term(term: SelectorTerm, nodes: Nodes) -> BoolArray:
    if term.error is not None or not (term.expressions or term.fields):
        return np.zeros(len(nodes), dtype=bool)
    result = np.ones(len(nodes), dtype=bool)
    for requirement in term.expressions:
        result &= _requirement(requirement, nodes.label_column(requirement.key))
    for requirement in term.fields:
        result &= _field(requirement, nodes)
    return result


def _requirement(requirement: Requirement, column: LabelColumn) -> BoolArray:
    codes = column.codes
    match requirement.operator:
        case "In":
            return _among(column, requirement.values)
        case "NotIn":
            return ~_among(column, requirement.values)
        case "Exists":
            return np.not_equal(codes, NO_LABEL)
        case "DoesNotExist":
            return np.equal(codes, NO_LABEL)
        case _:
            return _compares(requirement, column)


def _among(column: LabelColumn, values: Iterable[str]) -> BoolArray:
    """Which nodes have one of some values: one look-up a node, however many values there are."""
    wanted = np.zeros(len(column.values) + 2, dtype=bool)
    wanted[[column.code(value) for value in values]] = True
    # The last entry is that of nodes without the label, the one before it that of values that no node has.
    return wanted[column.codes]


def _compares(requirement: Requirement, column: LabelColumn) -> BoolArray:
    bound = parse_integer(requirement.values[0])
    greater = requirement.operator == "Gt"
    satisfied = [_in_order(parse_integer(value), bound, greater=greater) for value in column.values]
    return np.array([*satisfied, False], dtype=bool)[column.codes]


def _in_order(value: int | None, bound: int | None, *, greater: bool) -> bool:
    if value is None or bound is None:
        return False
    return value > bound if greater else value < bound


def _field(requirement: Requirement, nodes: Nodes) -> BoolArray:
    wanted = requirement.values[0]
    # Every field but the name is empty to upstream.
    equal = np.full(len(nodes), requirement.key != NAME_FIELD and wanted == "")
    if requirement.key == NAME_FIELD and wanted in nodes.index:
        equal[nodes.index[wanted]] = True
    return equal if requirement.operator == "In" else ~equal
