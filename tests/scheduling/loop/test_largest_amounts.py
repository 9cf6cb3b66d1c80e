"""Amounts up to int64 in filters, scores and preemption: nothing overflows, and nothing is judged otherwise than exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders import a_container, a_node, a_pod
from restow.cluster.amounts import capped_sum, percent_of
from restow.scheduling.plugins.balanced_allocation import BalancedAllocation
from restow.scheduling.plugins.image_locality import ImageLocality
from restow.scheduling.plugins.node_resources_fit import NodeResourcesFit
from restow.scheduling.plugins.resource_scoring import least_allocated, most_allocated, requested_to_capacity_ratio
from scheduling.plugins.asking import INCOMING, a_context, pod_index, scores, statuses
from scheduling.preempting import preempt

LARGEST = 2**63 - 1
amounts = st.integers(0, LARGEST) | st.integers(LARGEST - 100, LARGEST) | st.integers(0, 2**58)


@given(one=amounts, other=amounts)
@example(one=LARGEST, other=LARGEST)
def test_a_sum_ends_at_the_largest_amount(one, other):
    assert capped_sum(np.array([one]), np.array([other])).tolist() == [min(one + other, LARGEST)]


@given(pair=st.tuples(amounts, amounts).map(sorted))
@example(pair=[LARGEST, LARGEST])
def test_percentages_are_exact(pair):
    part, whole = pair
    assert percent_of(np.array([part]), np.array([whole])).tolist() == [100 * part // max(whole, 1)]


@given(used=amounts, capacity=amounts)
@example(used=LARGEST, capacity=LARGEST)
@example(used=0, capacity=LARGEST)
def test_scores_of_every_strategy_are_exact(used, capacity):
    given_amounts = np.array([[used]]), np.array([[capacity]]), np.array([[1]])
    part = min(used, capacity)
    assert least_allocated(*given_amounts).tolist() == [100 * (capacity - part) // capacity if capacity else 0]
    assert most_allocated(*given_amounts).tolist() == [100 * part // capacity if capacity else 0]
    rising = requested_to_capacity_ratio([(0, 0), (100, 10)])(*given_amounts)
    assert rising.tolist() == [100 * part // capacity if capacity and used <= capacity else 100 if capacity else 0]


@pytest.mark.parametrize(
    ("room", "used", "wanted", "fits"),
    [
        pytest.param("4Ei", "1Gi", "4Ei", False, id="almost"),
        pytest.param("9Ei", "1Gi", "7Ei", True, id="fits"),
        pytest.param("8Gi", "1Gi", str(LARGEST), False, id="the largest request"),
        pytest.param("0", str(LARGEST), str(LARGEST), False, id="nothing there"),
        pytest.param(str(LARGEST), "0", str(LARGEST), True, id="all of it"),
        pytest.param(str(LARGEST), "1", str(LARGEST), False, id="one byte too few"),
    ],
)
def test_the_filter_is_exact(room, used, wanted, fits):
    context = a_context(a_node("n", memory=room), a_pod("used", node="n", memory=used), a_pod(INCOMING, memory=wanted))
    (status,) = statuses(context, NodeResourcesFit(context), pod_index(context)).values()
    assert (status == ("OK",)) == fits


@pytest.mark.parametrize("amount", ["8Pi", "7Ei", str(LARGEST)])
def test_scores_of_the_largest_amounts_are_within_bounds(amount):
    """Of nodes that are not feasible too: all are scored at once."""
    context = a_context(
        *(a_node(f"n{at}", memory=room) for at, room in enumerate(["8Gi", amount, "0", str(LARGEST)])),
        *(a_pod(f"u{at}", node=f"n{at}", memory=amount) for at in range(4)),
        a_pod(INCOMING, memory=amount),
    )
    for plugin in (NodeResourcesFit(context), BalancedAllocation(context)):
        found = scores(context, plugin, pod_index(context))
        assert all(0 <= score <= 100 for score in found), plugin.name


def test_victims_of_any_size_make_exactly_their_room():
    """The incoming pod and its victim together are more than int64 holds."""
    told = preempt(
        a_node("n", memory=str(LARGEST)),
        a_pod("large", node="n", memory=str(LARGEST - 1), priority=0),
        a_pod("small", node="n", memory="1", priority=0),
        a_pod(INCOMING, memory=str(LARGEST - 1), priority=10),
    )
    assert told.victims == {"n": ["large"]}


def test_a_pod_may_request_more_kinds_of_resources_than_an_integer_has_bits():
    many = {f"example.com/r{at:03}": "1" for at in range(150)}
    context = a_context(
        a_node("empty"), a_node("full", extended=many),
        a_node("lacks", extended={name: amount for name, amount in many.items() if name[-1] != "7"}),
        a_pod(INCOMING, containers=[a_container(requests=many)]),
    )  # fmt: skip
    told = statuses(context, NodeResourcesFit(context), pod_index(context))
    assert told["full"] == ("OK",)
    assert told["empty"] == ("UAU", *(f"Insufficient {name}" for name in many))
    assert told["lacks"] == ("UAU", *(f"Insufficient {name}" for name in many if name[-1] == "7"))


@pytest.mark.parametrize("size", [-1, 0, 2**50, LARGEST])
def test_an_image_of_any_size_scores_within_bounds(size):
    nodes = [a_node(f"n{at}", images={"a:latest": size, "b:latest": size}) for at in range(2)]
    context = a_context(*nodes, a_pod(INCOMING, images=["a", "b"] * 30))
    found = scores(context, ImageLocality(context), pod_index(context))
    assert found == [100 if size >= 2**50 else 0] * 2
