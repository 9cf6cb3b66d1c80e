"""The order in which pods of one node are evicted: the least important first.

No priority before any, then by priority, then BestEffort before Burstable before Guaranteed, then pods that would
rather stay (their annotation counts whatever its value) after the others; ties in canonical order. Source: Descheduler
0.36, SortPodsBasedOnPriorityLowToHigh.
"""

from __future__ import annotations

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.pods import Flag, Pods


def low_to_high(pods: Pods, chosen: IntArray) -> IntArray:
    """The chosen pods in order of eviction."""
    reluctant = (pods.flags[chosen] & Flag.PREFER_NO_EVICTION) != 0
    keys = (reluctant, pods.qos[chosen], pods.priority[chosen], pods.has_priority[chosen])
    return chosen[np.lexsort(keys)]
