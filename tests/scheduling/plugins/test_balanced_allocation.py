"""NodeResourcesBalancedAllocation against the rows of upstream's own tests (C), as they are since Kubernetes 1.36."""

from __future__ import annotations

import pytest

from builders import a_node, a_pod
from restow.scheduling.plugins.balanced_allocation import BalancedAllocation
from scheduling.plugins.asking import INCOMING, a_context, pod_index, scores

GPU = "nvidia.com/gpu"

#: What the node has, what is used of it, what the pod requests (milli CPU and bytes), and the score.
ROWS = {
    "C04": ((10000, 20000), (3000, 0), (3000, 5000), 73),
    "C07": ((3000, 5000), (3000, 0), (0, 5000), 100),
    "C10": ((6000, 10000), (3000, 5000), (3000, 0), 62),
    "C13": ((3500, 40000), (0, 0), (3000, 5000), 56),
    "C15": ((1000, 0), (0, 0), (100, 0), 75),
}


def scored(room, used, wanted, **node):
    cluster = [
        a_node("n", cpu=f"{room[0]}m", memory=str(room[1]), **node),
        a_pod("used", node="n", cpu=f"{used[0]}m", memory=str(used[1])),
        a_pod(INCOMING, cpu=f"{wanted[0]}m", memory=str(wanted[1])),
    ]
    context = a_context(*cluster)
    return scores(context, BalancedAllocation(context, ("cpu", "memory", GPU)), pod_index(context))


@pytest.mark.parametrize(("room", "used", "wanted", "expected"), ROWS.values(), ids=ROWS)
def test_a_node_scores_by_what_the_pod_does_to_its_balance(room, used, wanted, expected):
    assert scored(room, used, wanted) == [expected]


def test_a_resource_that_is_balanced_but_not_requested_does_not_count_c13():
    assert scored(*ROWS["C13"][:3], extended={GPU: 8}) == [56]


def test_a_pod_without_requests_has_no_opinion_c01():
    context = a_context(a_node("n"), a_pod(INCOMING, cpu=None, memory=None))
    assert scores(context, BalancedAllocation(context), pod_index(context)) == "SKIP"
