"""nodeSelector and node affinity for one node; ids UT are rows of the Descheduler's own test tables."""

from __future__ import annotations

import msgspec
import pytest

from builders.affinity import node_term
from restow.kube.node_selection import NodeSelection, compile_preferred, preference_problem
from restow.kube.objects import NodeSelector, PreferredSchedulingTerm

EAST = {"zone": "east", "cpus": "8"}


def node_selector(*terms) -> NodeSelector:
    return msgspec.convert({"nodeSelectorTerms": list(terms)}, NodeSelector)


def selection(*terms, labels=None) -> NodeSelection:
    return NodeSelection.compile(labels, node_selector(*terms))


@pytest.mark.parametrize(
    ("terms", "matches"),
    [
        pytest.param([], False, id="no-terms"),
        pytest.param([node_term()], False, id="empty-term"),
        pytest.param([node_term(("zone", "In", "east", "west"))], True, id="In"),
        pytest.param([node_term(("zone", "NotIn", "east"))], False, id="NotIn"),
        pytest.param([node_term(("rack", "NotIn", "r1"))], True, id="NotIn-absent"),
        pytest.param([node_term(("zone", "Exists"))], True, id="Exists"),
        pytest.param([node_term(("rack", "DoesNotExist"))], True, id="DoesNotExist"),
        pytest.param([node_term(("cpus", "Gt", "7"))], True, id="Gt"),
        pytest.param([node_term(("cpus", "Gt", "8"))], False, id="Gt-equal"),
        pytest.param([node_term(("cpus", "Lt", "9"))], True, id="Lt"),
        pytest.param([node_term(("zone", "Gt", "1"))], False, id="Gt-of-text"),
        pytest.param([node_term(("rack", "Lt", "1"))], False, id="Lt-absent"),
        pytest.param([node_term(("zone", "Exists"), ("rack", "Exists"))], False, id="requirements-are-ANDed"),
        pytest.param([node_term(("rack", "Exists")), node_term(("zone", "Exists"))], True, id="terms-are-ORed"),
        pytest.param([node_term(fields=[("metadata.name", "In", "n1")])], True, id="name"),
        pytest.param([node_term(fields=[("metadata.name", "NotIn", "n1")])], False, id="not-name"),
        pytest.param([node_term(("zone", "Exists"), fields=[("metadata.name", "In", "n2")])], False, id="both"),
        pytest.param([node_term(fields=[("spec.x", "NotIn", "y")])], True, id="other-fields-are-empty"),
    ],
)
def test_required_terms(terms, matches):
    assert selection(*terms).matches("n1", EAST) is matches


def test_without_required_affinity_only_the_node_selector_counts():
    assert NodeSelection.compile(None, None).matches("n1", {})
    assert NodeSelection.compile({"zone": "east"}, None).matches("n1", EAST)
    assert not NodeSelection.compile({"zone": "west"}, None).matches("n1", EAST)


def test_node_selector_and_affinity_must_both_hold():
    assert not selection(node_term(("zone", "Exists")), labels={"rack": "r1"}).matches("n1", EAST)


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        pytest.param(
            [node_term(("zone", "Foo"))],
            'nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Foo": supported values: "In", '
            '"NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
            id="operator",
        ),
        pytest.param(
            [node_term(), node_term(("zone", "Exists"), ("cpus", "Gt", "many"))],
            'nodeSelectorTerms[1].matchExpressions[1].values[0]: Invalid value: "many": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
            id="comparison",
        ),
        pytest.param(
            [node_term(("cpus", "Lt", "1", "2"))],
            'nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: ["1","2"]: '
            "for 'Gt', 'Lt' operators, exactly one value is required",
            id="comparison-with-two-values",
        ),
        pytest.param(
            [node_term(fields=[("metadata.name", "Exists")])],
            'nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn"',
            id="field-operator",
        ),
        pytest.param(
            [node_term(fields=[("metadata.name", "In", "n1", "n2")]), node_term(("zone", "In"))],
            '[nodeSelectorTerms[0].matchFields[0].values: Invalid value: ["n1","n2"]: must have one element, '
            "nodeSelectorTerms[1].matchExpressions[0].values: Invalid value: null: "
            "for 'in', 'notin' operators, values set can't be empty]",
            id="all-problems",
        ),
    ],
)
def test_terms_that_do_not_parse_are_reported_when_no_other_matches(terms, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        selection(*terms).matches("n1", EAST)

    assert str(caught.value) == message
    assert selection(*terms, node_term(("zone", "Exists"))).matches("n1", EAST)
    assert not selection(*terms, labels={"zone": "west"}).matches("n1", EAST)


def test_selections_can_be_keys_of_a_cache():
    assert len({selection(node_term(("a", "In", "1")), labels={"b": "2", "c": "3"}) for _ in range(2)}) == 1


def test_the_names_of_a_term_that_does_not_parse_are_kept():
    """PreFilter narrows the nodes by them before anybody reads the term."""
    term = node_term(("gen", "Gt", "x"), fields=[("metadata.name", "In", "n1")])
    compiled = selection(term).terms[0]
    assert (compiled.fields[0].values, compiled.matches("n1", {})) == (("n1",), False)


def test_the_first_problem_of_preferences_names_their_place():
    broken, fine = node_term(("gen", "Gt", "x")), node_term(("gen", "Gt", "1"))
    terms = [(0, broken), (1, fine), (2, broken)]
    wire = [{"weight": weight, "preference": term} for weight, term in terms]
    compiled = compile_preferred(msgspec.convert(wire, tuple[PreferredSchedulingTerm, ...]))
    assert preference_problem(compiled[:2]) is None
    assert str(preference_problem(compiled)).startswith("[2].matchExpressions[0].values[0]: Invalid value")
