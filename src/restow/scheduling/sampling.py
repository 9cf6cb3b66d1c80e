"""Sampling: the nodes that a pod could go to when the scheduler does not look at all of them.

In clusters of 100 and more nodes kube-scheduler stops when it has found enough feasible ones, and scores only those.
It begins where the last search ended, which can be anywhere. So each start in the visiting order
(``scheduling.node_order``) gives a *window* of feasible nodes, each window a best score, and a node could win if it has
the best score of some window. Scores are normalised over their window; windows that normalise alike are dealt with
together (``scheduling.relative_scores``). Most pods have one such group of windows or a few dozen. Only soft constraints
over a topology of hundreds of domains, of which each window has others, make a group of nearly every window.

The set is exact for one worker and nodes added in order of their names. Several workers may leave a few nodes of a
window out for the next ones, and nodes that joined later are visited later in their zone than their name says.
Source: findNodesThatPassFilters and numFeasibleNodesToFind, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import Nodes
from restow.scheduling import windows
from restow.scheduling.framework import Scores
from restow.scheduling.node_order import visiting_order
from restow.scheduling.relative_scores import RelativePlugin, RelativeScores, sorted_out
from restow.scheduling.scoring import Ranking, WeightedPlugin

_LEAST = 100
_LEAST_PERCENTAGE = 5
_MOST_PERCENTAGE = 50
_NODES_PER_PERCENT = 125


def feasible_to_find(nodes: int, percentage: int = 0) -> int:
    """After how many feasible nodes of so many the search ends.

    ``percentage`` is percentageOfNodesToScore; 0 is the default, a share that falls as clusters grow.
    """
    if nodes < _LEAST:
        return nodes
    share = percentage or max(_MOST_PERCENTAGE - nodes // _NODES_PER_PERCENT, _LEAST_PERCENTAGE)
    return max(nodes * share // 100, _LEAST)


class Sampling:
    """Which nodes of one cluster could win under one profile."""

    def __init__(self, nodes: Nodes, plugins: Sequence[WeightedPlugin], percentage: int = 0) -> None:
        self._nodes = nodes
        self._relative = [(each.plugin, each.weight) for each in plugins if isinstance(each.plugin, RelativePlugin)]
        self._percentage = percentage

    def winners(self, pod: int, ranking: Ranking, allowed: BoolArray | None = None) -> IntArray:
        """The nodes that have the best score in some window, ties included, in order of their names.

        ``ranking`` is the pod's on the state as it is, ``allowed`` the nodes that PreFilter plugins left (None: all).
        Those come in any order, so any of them may be found together. Where 100 and more of them are left and scores
        depend on which ones are found, the answer is every feasible node, which may be too many.
        """
        offered = len(self._nodes) if allowed is None else int(np.count_nonzero(allowed))
        size = feasible_to_find(offered, self._percentage)
        if len(ranking.nodes) <= size:
            return ranking.best
        if allowed is not None:
            return self._in_any_order(pod, ranking, size)
        return self._in_windows(pod, ranking, size)

    def _in_any_order(self, pod: int, ranking: Ranking, size: int) -> IntArray:
        """A node wins if there are enough others that are no better."""
        if any(plugin.relative(pod, ranking.nodes) is not None for plugin, _ in self._relative):
            return ranking.nodes
        winners: IntArray = ranking.nodes[ranking.total >= np.partition(ranking.total, size - 1)[size - 1]]
        return winners

    def _in_windows(self, pod: int, ranking: Ranking, size: int) -> IntArray:
        place = np.full(len(self._nodes), -1)
        place[ranking.nodes] = np.arange(len(ranking.nodes))
        visited = self._order[place[self._order] >= 0]
        # The last windows go over the end, back to the nodes that were visited first.
        visited = np.concatenate((visited, visited[: size - 1]))
        fixed = ranking.total
        relative: list[tuple[int, RelativeScores]] = []
        for plugin, weight in self._relative:
            scores = plugin.relative(pod, visited)
            if scores is not None:
                fixed = fixed - ranking.by_plugin[plugin.name]
                relative.append((weight, scores))
        won = np.zeros(len(self._nodes), dtype=bool)
        won[visited[_winners(fixed[place[visited]], relative, size)]] = True
        return np.flatnonzero(won)

    @cached_property
    def _order(self) -> IntArray:
        return visiting_order(self._nodes.labels)


def _winners(fixed: Scores, relative: Sequence[tuple[int, RelativeScores]], size: int) -> BoolArray:
    """Which entries have the highest total in some window of which they are part."""
    if not relative:
        return _highest_somewhere(fixed, np.arange(len(fixed) - size + 1), size)
    won = np.zeros(len(fixed), dtype=bool)
    kinds, members = _joined([scores.kinds for _, scores in relative])
    scales = [scores.scales(size) for _, scores in relative]
    bounds = np.cumsum([0, *map(len, scales)]).tolist()
    for scale, found in windows.alike(np.concatenate(scales)):
        total = np.zeros(len(members[0]), dtype=np.int64)
        for (weight, scores), member, start, end in zip(relative, members, bounds, bounds[1:], strict=False):
            total += weight * scores.scores(scale[start:end])[member]
        for stretch, part in windows.stretches(found, size):
            won[part] |= _highest_somewhere(fixed[part] + total[kinds[part]], stretch - part.start, size)
    return won


def _joined(kinds: Sequence[IntArray]) -> tuple[IntArray, list[IntArray]]:
    """The kind of each entry in all respects, and what kind that is in each."""
    joined = kinds[0]
    for each in kinds[1:]:
        _, joined = sorted_out(joined * (int(each.max()) + 1) + each)
    example = np.zeros(int(joined.max()) + 1, dtype=np.int64)
    example[joined] = np.arange(len(joined))
    return joined, [each[example] for each in kinds]


def _highest_somewhere(total: Scores, found: IntArray, size: int) -> BoolArray:
    """Which entries are the highest in one of the windows found of which they are part."""
    # What an entry must reach: in other windows, and beyond the first and the last, more than it can.
    bar = np.full(len(total) + size - 1, windows.BEYOND)
    bar[found + size - 1] = windows.highest(total, size)[found]
    highest: BoolArray = total >= windows.lowest(bar, size)
    return highest
