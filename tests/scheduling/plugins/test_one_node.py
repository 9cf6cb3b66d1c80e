"""Rules that are computed for one node with plain numbers say what their arrays say of all nodes.

A placement changes one node, and what is kept of it is computed in Python's numbers then. Amounts are drawn up to the
largest that there is: both forms round and cap the same.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import a_node, a_pod
from restow.cluster.amounts import LARGEST
from restow.scheduling.framework.caches import LocalVerdicts
from restow.scheduling.plugins.balanced_allocation import BalancedAllocation
from restow.scheduling.plugins.node_resources_fit import NodeResourcesFit
from restow.scheduling.plugins.resource_scoring import least_allocated, most_allocated
from scheduling.plugins.asking import a_context, pod_index

GPU = "nvidia.com/gpu"
#: Small enough to meet one another, ordinary, and as large as can be.
AMOUNTS = st.one_of(st.integers(0, 5), st.integers(0, 1 << 40), st.integers(LARGEST - 5, LARGEST))
#: CPU in milli, memory in bytes, GPUs.
ROWS = st.tuples(AMOUNTS, AMOUNTS, AMOUNTS)
#: Those of which two have a sum: no balance is defined beyond.
HALVES = ROWS.map(lambda row: tuple(amount // 2 for amount in row))


def requests(row):
    return {"cpu": f"{row[0]}m", "memory": str(row[1])}


def a_cluster_with_one_more(rooms, first, second):
    """Nodes, a pod on the first of them, and one that comes there after everything has been asked."""
    return a_context(
        *(a_node(f"n{place}", **requests(room), extended={GPU: room[2]}) for place, room in enumerate(rooms)),
        a_pod("first", node="n0", **requests(first)),
        a_pod("second", **requests(second), requests={GPU: str(second[2])}),
    )


def everywhere(context):
    return np.ones(len(context.state.cluster.nodes), dtype=bool)


def assert_alike(context, made, asked):
    """Ask before and after a pod has come to a node, and ask another that has seen nothing before."""
    seen = made()
    asked(seen)
    context.state.place(pod_index(context, "second"), 0)
    assert np.array_equal(asked(seen), asked(made()))


@given(rooms=st.lists(ROWS, min_size=2, max_size=3), first=ROWS, second=ROWS)
@settings(max_examples=100, deadline=None)
@pytest.mark.parametrize("strategy", [least_allocated, most_allocated])
def test_the_score_of_room_is_that_of_all_nodes(strategy, rooms, first, second):
    context = a_cluster_with_one_more(rooms, first, second)
    pod, weights = pod_index(context, "first"), {"cpu": 1, "memory": 3, GPU: 2}
    assert_alike(
        context,
        lambda: NodeResourcesFit(context, strategy=strategy, weights=weights),
        lambda plugin: plugin.score_all(pod, everywhere(context)),
    )


@given(rooms=st.lists(ROWS, min_size=2, max_size=3), first=HALVES, second=HALVES)
@settings(max_examples=100, deadline=None)
def test_the_score_of_balance_is_that_of_all_nodes(rooms, first, second):
    context = a_cluster_with_one_more(rooms, first, second)
    for pod in (pod_index(context, name) for name in ("first", "second")):
        assert_alike(
            context,
            lambda: BalancedAllocation(context, ("cpu", "memory", GPU)),
            lambda plugin, pod=pod: plugin.score_all(pod, everywhere(context)),
        )


@given(rooms=st.lists(ROWS, min_size=2, max_size=3), first=ROWS, second=ROWS)
@settings(max_examples=100, deadline=None)
def test_whether_there_is_room_is_what_all_nodes_are_told(rooms, first, second):
    context = a_cluster_with_one_more(rooms, first, second)
    plugin = NodeResourcesFit(context)

    def passes(_plugin, result):
        return np.where(result.passes, -1, 0)

    for pod in (pod_index(context, name) for name in ("first", "second")):
        assert_alike(
            context,
            lambda: LocalVerdicts(context.state, plugin, passes),
            lambda verdicts, pod=pod: verdicts.of(pod),
        )
