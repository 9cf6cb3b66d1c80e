"""Sampling: the nodes that a pod could go to when the scheduler does not look at all of them.

In clusters of 100 and more nodes kube-scheduler stops when it has found enough feasible ones, and scores only those.
It begins where the last search ended, which can be anywhere. So each start in the visiting order
(``scheduling.node_order``) gives a *window* of feasible nodes, each window a best score, and a node could win if it has
the best score of some window. Scores are normalised over their window (``scheduling.relative_scores``), so each node has
a least and a most that it can get in any window. From those nearly always follows whether it wins. Where it does not,
windows are looked at, those that normalise alike together. Only soft constraints over a topology of hundreds of domains,
of which each window has others, make nearly every window one of its own.

The set is exact for one worker and nodes added in order of their names. Several workers may leave a few nodes of a
window out for the next ones, and nodes that joined later are visited later in their zone than their name says.
Source: findNodesThatPassFilters and numFeasibleNodesToFind, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import Nodes
from restow.scheduling import windows
from restow.scheduling.framework import Scores
from restow.scheduling.node_order import visiting_order
from restow.scheduling.recent import Recent
from restow.scheduling.relative_scores import RelativePlugin, WindowScores, sorted_out
from restow.scheduling.scoring import Ranking, WeightedPlugin

_LEAST = 100
_LEAST_PERCENTAGE = 5
_MOST_PERCENTAGE = 50
_NODES_PER_PERCENT = 125
#: Sets of feasible nodes that are kept in visiting order.
_CAPACITY = 64
#: Windows that are faster looked at one by one.
_FEW = 16


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
        #: By the feasible nodes, of which sets recur.
        self._feasible: Recent[bytes, IntArray] = Recent(_CAPACITY)

    def winners(self, pod: int, ranking: Ranking, allowed: BoolArray | None = None) -> IntArray:
        """The nodes that have the best score in some window, ties included, in order of their names.

        ``ranking`` is the pod's on the state as it is, ``allowed`` the nodes that PreFilter plugins left (None: all).
        Those come in any order, so any of them may be found together. Where 100 and more of them are left and scores
        depend on which ones are found, the answer is every feasible node, which may be too many.
        """
        offered = len(self._nodes) if allowed is None else int(np.count_nonzero(allowed))
        size = feasible_to_find(offered, self._percentage)
        if np.count_nonzero(ranking.feasible) <= size:
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
        visited = self._visited(ranking.feasible, size)
        asked = [(plugin, weight, plugin.relative(pod, visited)) for plugin, weight in self._relative]
        relative = [(weight, scores.scores(size)) for _, weight, scores in asked if scores is not None]
        kinds = [scores.kinds for _, _, scores in asked if scores is not None]
        fixed = ranking.without([plugin for plugin, _, scores in asked if scores is not None])
        entries = _winners(windows.narrow(fixed[visited]), Added.of(relative, kinds) if relative else None, size)
        count = len(visited) - size + 1
        entries[: size - 1] |= entries[count:]
        won = np.zeros(len(self._nodes), dtype=bool)
        won[visited[:count]] = entries[:count]
        return np.flatnonzero(won)

    def _visited(self, feasible: BoolArray, size: int) -> IntArray:
        """The feasible nodes in the order in which they are visited, round and back to those that were visited first."""
        key = feasible.tobytes()
        known = self._feasible.get(key)
        if known is None:
            visited = self._order[feasible[self._order]]
            # The last windows go over the end.
            known = np.concatenate((visited, visited[: size - 1]))
            self._feasible.put(key, known)
        return known

    @cached_property
    def _order(self) -> IntArray:
        return visiting_order(self._nodes.labels)


def _winners(fixed: Scores, added: Added | None, size: int) -> BoolArray:
    """Which entries have the highest total in some window of which they are part.

    What an entry gets in any window lies between two bounds. Whether it wins nearly always follows from those.
    """
    if added is None:
        return _reaching(fixed, windows.highest(fixed, size), size)
    lower = fixed + added.least[added.kinds]
    if len(added.table) == 1:
        return _reaching(lower, windows.highest(lower, size), size)
    upper = fixed + added.most[added.kinds]
    least, most = windows.highest(lower, size), windows.highest(upper, size)
    won, contenders = _reaching(lower, most, size), _reaching(upper, least, size)
    doubtful = contenders & ~won
    if doubtful.any():
        reached = windows.highest(np.where(doubtful, upper, np.iinfo(upper.dtype).min), size)
        for number, found in _by_scale(np.flatnonzero(reached >= least), added):
            for some, part in windows.stretches(found, size):
                total = fixed[part] + added.table[number][added.kinds[part]]
                won[part] |= _highest_in(total, some - part.start, size)
    return won


def _by_scale(found: IntArray, added: Added) -> Iterator[tuple[int, IntArray]]:
    """The windows found by the scale that they have."""
    scale = added.scale.at(found)
    for number in np.flatnonzero(np.bincount(scale)).tolist():
        yield number, found[scale == number]


def _highest_in(total: Scores, found: IntArray, size: int) -> BoolArray:
    """Which entries have the highest total of some of the windows found."""
    if len(found) < _FEW:
        won = np.zeros(len(total), dtype=bool)
        for start in found.tolist():
            window = total[start : start + size]
            won[start : start + size] |= window == window.max()
        return won
    bar = np.full(len(total) - size + 1, np.iinfo(total.dtype).max, dtype=total.dtype)
    bar[found] = windows.highest(total, size)[found]
    return _reaching(total, bar, size)


def _reaching(total: Scores, bar: Scores, size: int) -> BoolArray:
    """Which entries are not below the bar of some window of which they are part."""
    reaching: BoolArray = total >= windows.lowest_around(bar, size)
    return reaching


@dataclass(slots=True, frozen=True)
class Added:
    """What relative scores add to each entry in each window."""

    #: The kind of each entry in all respects.
    kinds: IntArray
    #: The scale of each window in all respects.
    scale: windows.Runs
    #: By scale and kind; the highest or the lowest possible where windows of the scale have no entry of the kind.
    table: Scores
    #: The lowest and the highest of all scales.
    least: Scores
    most: Scores

    @staticmethod
    def of(relative: Sequence[tuple[int, WindowScores]], kinds: Sequence[IntArray]) -> Added:
        """``relative`` is not empty; weights come with scores."""
        if len(relative) == 1:
            ((weight, scores),) = relative
            table = windows.narrow(weight * scores.table.astype(np.int64))
            return Added(kinds[0], scores.of_window, table, table.min(axis=0), table.max(axis=0))
        joined, members = _joined(kinds)
        columns, scale = windows.numbered(np.stack([scores.of_window.everywhere() for _, scores in relative]))
        table = np.zeros((len(columns), len(members[0])), dtype=np.int64)
        for (weight, scores), member, column in zip(relative, members, np.array(columns).T, strict=True):
            table += weight * scores.table[column][:, member].astype(np.int64)
        table = windows.narrow(table)
        return Added(joined, scale, table, table.min(axis=0), table.max(axis=0))


def _joined(kinds: Sequence[IntArray]) -> tuple[IntArray, list[IntArray]]:
    """The kind of each entry in all respects, and what kind that is in each."""
    joined = kinds[0]
    for each in kinds[1:]:
        _, joined = sorted_out(joined * (int(each.max()) + 1) + each)
    example = np.zeros(int(joined.max()) + 1, dtype=np.int64)
    example[joined] = np.arange(len(joined))
    return joined, [each[example] for each in kinds]
