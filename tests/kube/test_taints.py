"""Taints and tolerations; ids TT and UT are rows of the Descheduler's own test tables."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.affinity import a_toleration
from builders.nodes import a_taint
from restow.kube.objects import Taint, Toleration
from restow.kube.taints import HARD_EFFECTS, all_tolerated, canonical_tolerations, tolerates, untolerated


def toleration(text) -> Toleration:
    return msgspec.convert(a_toleration(text), Toleration)


def taint(text) -> Taint:
    return msgspec.convert(a_taint(text), Taint)


@pytest.mark.parametrize(
    ("pattern", "tainted", "tolerated"),
    [
        pytest.param("foo:NoSchedule", "foo:NoSchedule", True, id="TT-1"),
        pytest.param("foo:NoSchedule", "foo=bar:NoSchedule", True, id="TT-2"),
        pytest.param(":NoSchedule", "foo=bar:NoSchedule", True, id="TT-3"),
        pytest.param("foo=bar:NoSchedule", "foo=bar:NoSchedule", True, id="TT-4"),
        pytest.param("foo=value1:NoSchedule", "foo=value2:NoSchedule", False, id="TT-5"),
        pytest.param("foo=bar:NoSchedule", "foo=bar:NoExecute", False, id="TT-6"),
        pytest.param("foo=bar", "foo=bar:NoExecute", True, id="any-effect"),
        pytest.param("other:NoSchedule", "foo:NoSchedule", False, id="other-key"),
        pytest.param("=bar:NoSchedule", "foo=bar:NoSchedule", True, id="empty-key-compares-values"),
        pytest.param("=baz:NoSchedule", "foo=bar:NoSchedule", False, id="empty-key-and-other-value"),
        pytest.param({"key": "foo", "operator": "Never"}, "foo:NoSchedule", False, id="unknown-operator"),
    ],
)
def test_a_toleration_is_a_pattern_of_key_value_and_effect(pattern, tainted, tolerated):
    assert tolerates(toleration(pattern), taint(tainted)) is tolerated


@pytest.mark.parametrize(
    ("operator", "value", "tainted", "tolerated"),
    [
        pytest.param("Gt", "900", "950", True, id="X-58-Gt-900"),
        pytest.param("Gt", "990", "950", False, id="X-58-Gt-990"),
        pytest.param("Lt", "990", "950", True, id="X-58-Lt-990"),
        pytest.param("Gt", "950", "950", False, id="equal"),
        pytest.param("Lt", "5", "-5", True, id="negative"),
        pytest.param("Gt", "x", "950", False, id="no-number-in-toleration"),
        pytest.param("Gt", "900", "x", False, id="no-number-in-taint"),
        pytest.param("Gt", "0900", "950", False, id="leading-zero"),
        pytest.param("Gt", "+900", "950", False, id="plus-sign"),
        pytest.param("Gt", "-0", "950", False, id="minus-zero"),
        pytest.param("Gt", "0", "9223372036854775808", False, id="beyond-int64"),
    ],
)
def test_numeric_operators_compare_the_taint_with_the_toleration(operator, value, tainted, tolerated):
    pattern = toleration({"key": "sla", "operator": operator, "value": value})

    assert tolerates(pattern, taint(f"sla={tainted}:NoSchedule")) is tolerated


def test_every_taint_that_counts_needs_a_toleration():
    patterns = [toleration("a:NoSchedule")]
    taints = [taint("a:NoSchedule"), taint("b:PreferNoSchedule")]

    assert all_tolerated(patterns, taints, HARD_EFFECTS)
    assert not all_tolerated(patterns, taints)
    assert untolerated(patterns, taints) == taints[1]
    assert all_tolerated([], [])


@pytest.mark.parametrize(
    ("left", "right", "ordered"),
    [
        pytest.param("key1=value:NoSchedule", "key2=value:NoSchedule", True, id="UT-01"),
        pytest.param("key=value1:NoSchedule", "key=value2:NoSchedule", True, id="UT-02"),
        pytest.param("key=value:NoExecute", "key=value:NoSchedule", True, id="UT-03"),
        pytest.param("key=value:NoSchedule", "key=value:PreferNoSchedule", True, id="UT-03-prefer"),
    ],
)
def test_canonical_tolerations_are_sorted_by_key_value_and_effect(left, right, ordered):
    assert canonical_tolerations([toleration(right), toleration(left)]) == canonical_tolerations(
        [toleration(left)]
    ) + canonical_tolerations([toleration(right)])


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        pytest.param(["a=1:NoSchedule", "b:NoExecute"], ["a=1:NoSchedule", "b:NoExecute"], True, id="UT-05-identical"),
        pytest.param(["a=1:NoSchedule", "a=1:NoSchedule"], ["a=1:NoSchedule"], True, id="UT-05-repeated"),
        pytest.param(["a=1:NoSchedule"], ["a=1:NoExecute"], False, id="UT-06-effect"),
        pytest.param(["a=1:NoSchedule", "b=1:NoSchedule"], ["a=1:NoSchedule"], False, id="UT-06-length"),
        pytest.param([], [], True, id="both-empty"),
        pytest.param(
            [{"key": "a", "tolerationSeconds": 5}], [{"key": "a", "tolerationSeconds": 6}], True, id="seconds-ignored"
        ),
        pytest.param([{"key": "a", "operator": "Equal"}], [{"key": "a"}], False, id="empty-operator-is-not-Equal"),
    ],
)
def test_lists_of_tolerations_are_equal_in_canonical_form(left, right, equal):
    forms = [canonical_tolerations([toleration(each) for each in side]) for side in (left, right)]

    assert (forms[0] == forms[1]) is equal


tolerations = st.builds(
    Toleration,
    st.sampled_from(["", "a", "b"]),
    st.sampled_from(["", "Equal", "Exists", "Gt", "Lt"]),
    st.sampled_from(["", "1", "2"]),
    st.sampled_from(["", "NoSchedule", "NoExecute"]),
)
taints = st.builds(
    Taint, st.sampled_from(["a", "b"]), st.sampled_from(["", "1", "3"]), st.sampled_from(["NoSchedule", "NoExecute"])
)


@given(st.lists(tolerations, max_size=4), st.lists(taints, max_size=3), st.randoms(use_true_random=False))
def test_equal_canonical_forms_tolerate_alike(patterns, tainted, random):
    shuffled = [*patterns, *patterns[:1]]
    random.shuffle(shuffled)

    assert canonical_tolerations(shuffled) == canonical_tolerations(patterns)
    assert all_tolerated(shuffled, tainted) == all_tolerated(patterns, tainted)
