"""Taints and tolerations; ids TT and UT are rows of the Descheduler's own test tables."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.affinity import a_toleration
from builders.nodes import a_taint
from restow.kube.objects import Taint, Toleration
from restow.kube.taints import HARD_EFFECTS, all_tolerated, tolerates, untolerated


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
def test_order_and_repeats_of_tolerations_do_not_matter(patterns, tainted, random):
    shuffled = [*patterns, *patterns[:1]]
    random.shuffle(shuffled)

    assert all_tolerated(shuffled, tainted) == all_tolerated(patterns, tainted)
