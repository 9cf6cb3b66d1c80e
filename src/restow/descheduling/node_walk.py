"""The loop of most strategies: for each node, list the wanted pods, then suggest them one after the other.

The evictor's filters run while a node's pods are listed, before the first of them goes, because upstream does it then:
a limit on replicas sees only what earlier nodes lost. Source: Descheduler 0.36, the strategies that combine Filter
and PreEvictionFilter in their listing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pod_values import Flag
from restow.cluster.pods import Pods
from restow.descheduling.framework import Suggestion, Suggestions, Verdict, View
from restow.policies.codes import PlacementConstraint


def _as_listed(pods: IntArray) -> IntArray:
    return pods


def suggest_by_node(
    view: View,
    reasons: Mapping[int, str],
    constraint: PlacementConstraint,
    listing: Callable[[IntArray], IntArray] = _as_listed,
    accepts: Callable[[int, IntArray], BoolArray] | None = None,
) -> Suggestions:
    """Suggest the pods that have a reason, node by node.

    ``listing`` drops or orders the pods of one node when it is their turn; ``accepts(pod, nodes)`` says which
    nodes satisfy the strategy. A node whose limit is reached is left; the total limit ends the loop.
    """
    wanted = np.zeros(len(view.pods), dtype=bool)
    wanted[list(reasons)] = True
    for _, pods in view.by_node(wanted):
        for pod in view.admissible(listing(pods)).tolist():
            verdict = yield Suggestion(pod, reasons[pod], constraint, accepts=accepts and partial(accepts, pod))
            if verdict is Verdict.TOTAL_LIMIT:
                return
            if verdict is Verdict.NODE_LIMIT:
                break


# No priority before any, then by priority, then BestEffort before Burstable before Guaranteed, then pods that would
# rather stay (their annotation counts with any value) after the others; ties in canonical order. Source: Descheduler
# 0.36, SortPodsBasedOnPriorityLowToHigh.
def low_to_high(pods: Pods, chosen: IntArray) -> IntArray:
    """The chosen pods in order of eviction."""
    reluctant = (pods.flags[chosen] & Flag.PREFER_NO_EVICTION) != 0
    keys = (reluctant, pods.qos[chosen], pods.priority[chosen], pods.has_priority[chosen])
    return chosen[np.lexsort(keys)]
