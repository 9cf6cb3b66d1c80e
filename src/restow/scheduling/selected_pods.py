"""Counting the pods that label selectors mean; plugins that ask for the same pods share one tracker."""

from __future__ import annotations

from functools import reduce

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.pods import Phase
from restow.kube.labels import Selector
from restow.scheduling.context import Context
from restow.scheduling.pod_counts import Tracker

#: A selector and the namespaces, by identifier, that it looks into; None stands for all.
Selection = tuple[Selector, frozenset[int] | None]


def selected(context: Context, *selections: Selection) -> Tracker:
    """The count of the pods that match all of some selections (at least one) and are not over."""
    return context.counts.tracker(selections, lambda: _members(context, selections))


def _members(context: Context, selections: tuple[Selection, ...]) -> IntArray:
    found: IntArray = reduce(np.intersect1d, (context.labels.matching(*each) for each in selections))
    phase = context.state.cluster.pods.phase[found]
    holding: IntArray = found[(phase != Phase.SUCCEEDED) & (phase != Phase.FAILED)]
    return holding
