"""Matching all nodes at once is the same as ``kube.node_selection`` one node at a time."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import a_node, a_pod, node_term
from descheduling.harness import a_cluster
from restow.cluster.node_matching import fails_to_parse, matches, preferred_weights
from restow.kube.node_selection import NodeSelection, compile_preferred
from restow.kube.objects import NodeSelector, PreferredSchedulingTerm

KEYS = st.sampled_from(["a", "b", "bad key"])
VALUES = st.sampled_from(["x", "y", "", "1", "-2", "007", "99999999999999999999", "n1", "not valid!"])
LABELS = st.dictionaries(st.sampled_from(["a", "b"]), VALUES, max_size=2)
OPERATORS = st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near", ""])
EXPRESSION = st.builds(lambda *parts: (*parts[:2], *parts[2]), KEYS, OPERATORS, st.lists(VALUES, max_size=2))
FIELD = st.builds(
    lambda *parts: (*parts[:2], *parts[2]),
    st.sampled_from(["metadata.name", "spec.x", ""]),
    st.sampled_from(["In", "NotIn", "Exists"]),
    st.lists(st.sampled_from(["n1", "n2", "", "n9"]), max_size=2),
)
TERM = st.builds(
    lambda expressions, fields: node_term(*expressions, fields=fields),
    st.lists(EXPRESSION, max_size=2),
    st.lists(FIELD, max_size=1),
)
NODE_SELECTOR = st.dictionaries(st.sampled_from(["a", "b"]), VALUES, max_size=1)


def a_cluster_of(labels):
    return a_cluster(*(a_node(f"n{i}", labels=each) for i, each in enumerate(labels)), a_pod("p"))


def one_at_a_time(selection, nodes):
    """(matches, fails to parse) for each node, by the reference."""
    answers = []
    for name, labels in zip(nodes.names, nodes.labels, strict=True):
        try:
            answers.append((selection.matches(name, labels), False))
        except ValueError:
            answers.append((False, True))
    return answers


@given(st.lists(LABELS, min_size=1, max_size=4), NODE_SELECTOR, st.none() | st.lists(TERM, max_size=3))
@settings(max_examples=300, deadline=None)
def test_all_nodes_at_once_is_the_same_as_one_at_a_time(labels, node_selector, terms):
    nodes = a_cluster_of(labels).nodes
    required = None if terms is None else msgspec.convert({"nodeSelectorTerms": terms}, NodeSelector)
    selection = NodeSelection.compile(node_selector, required)
    answers = zip(matches(selection, nodes).tolist(), fails_to_parse(selection, nodes).tolist(), strict=True)
    assert list(answers) == one_at_a_time(selection, nodes)


@given(st.lists(LABELS, min_size=1, max_size=4), st.lists(st.tuples(st.integers(1, 100), TERM), max_size=3))
@settings(max_examples=100, deadline=None)
def test_preferred_weights_are_the_same_too(labels, terms):
    nodes = a_cluster_of(labels).nodes
    wire = [{"weight": weight, "preference": term} for weight, term in terms]
    preferred = compile_preferred(msgspec.convert(wire, tuple[PreferredSchedulingTerm, ...]))
    expected = [
        sum(each.weight for each in preferred if each.term.matches(name, its_labels))
        for name, its_labels in zip(nodes.names, nodes.labels, strict=True)
    ]
    assert preferred_weights(preferred, nodes).tolist() == expected


def test_a_preference_counts_only_where_it_holds():
    """NW-01."""
    wire = [{"weight": 10, "preference": node_term(("key1", "In", "value1"))}]
    preferred = compile_preferred(msgspec.convert(wire, tuple[PreferredSchedulingTerm, ...]))
    nodes = a_cluster_of([{}, {"key1": "value1"}, {"key1": "value2"}]).nodes
    assert preferred_weights(preferred, nodes).tolist() == [0, 10, 0]
