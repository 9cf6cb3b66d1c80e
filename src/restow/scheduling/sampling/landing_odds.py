"""Which nodes a pod could land on when the scheduler does not look at all of them, and how probable each is.

In clusters of 100 and more nodes kube-scheduler stops when it has found enough feasible ones (``percentageOfNodesToScore``),
and scores only those. Its search begins where the last one ended, which is unknown outside the scheduler. So each start in
the visiting order gives a *window* of feasible nodes, each window a best score, and a node could win if it has the best
score of some window. How probable that is is counted in ``scheduling.sampling.shares``.

Scores are normalised over their window (``scheduling.sampling.relative_scores``). Where so many windows normalise differently
that some stand for all, a node that wins has no share if it wins in others only. But each node has a least and a most that
it can get in any window, from which nearly always follows whether it wins; where it does not, windows are looked at.

The set is exact for one worker and nodes added in order of their names. Several workers may leave a few nodes of a
window out for the next ones, and nodes that joined later are visited later in their zone than their name says.
Source: schedulePod, selectHost, findNodesThatPassFilters and numFeasibleNodesToFind, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray, Interner
from restow.cluster.nodes import NodePart, Nodes
from restow.scheduling.framework.caches import LruCache
from restow.scheduling.framework.extension_points import Scores
from restow.scheduling.framework.scoring import Ranking, WeightedPlugin
from restow.scheduling.sampling import windows
from restow.scheduling.sampling.relative_scores import AddedScores, RelativePlugin
from restow.scheduling.sampling.shares import Estimate, Weights, shares, window_weights

#: The highest probability of what rests on something that is missing.
_NEARLY = 0.999

_LEAST = 100
_LEAST_PERCENTAGE = 5
_MOST_PERCENTAGE = 50
_NODES_PER_PERCENT = 125
#: Sets of feasible nodes that are kept in visiting order.
_CAPACITY = 64
#: Windows that are faster looked at one by one.
_FEW = 16

#: The first label that a node has says it, even if it says nothing; the legacy one goes before its successor.
_REGION = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
_ZONE = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")


class LandingOdds:
    """The nodes that could win, each with its probability.

    ``estimate`` is called when the probabilities are first read, so it must not look at anything that changes.
    """

    def __init__(self, nodes: IntArray, estimate: Callable[[], Estimate], *, is_known: bool = True) -> None:
        #: Every node that could win, in order of their names.
        self.nodes = nodes
        self._estimate = estimate
        #: Whether nothing is missing that the probabilities depend on; where something is, none is certain.
        self.is_known = is_known

    @staticmethod
    def equal(nodes: IntArray) -> LandingOdds:
        """Every node is as probable as the others."""
        return LandingOdds(nodes, lambda: (np.full(len(nodes), 1 / max(len(nodes), 1)), 0.0))

    @staticmethod
    def unknown(nodes: IntArray) -> LandingOdds:
        """Only that one of the nodes wins is known: each has a probability between 0 and 1."""
        return LandingOdds(nodes, lambda: (np.zeros(len(nodes)), 1.0), is_known=False)

    def as_far_as_known(self, nodes: IntArray) -> LandingOdds:
        """The odds when data that scores depend on is missing, so that any of more nodes could win."""

        def estimate() -> Estimate:
            probability, missed = self._estimated
            found = np.zeros(len(nodes))
            found[np.searchsorted(nodes, self.nodes)] = probability
            return found, missed

        return LandingOdds(nodes, estimate, is_known=False)

    @cached_property
    def _estimated(self) -> Estimate:
        return self._estimate()

    @property
    def probability(self) -> Weights:
        """float64[len(nodes)]: as much at least; 0 where an estimate has missed a node that wins in few windows only."""
        return self._estimated[0]

    def of(self, some: BoolArray) -> float:
        """The least probability that one of some nodes wins, bool[len(nodes)]; exactly 1 for all and 0 for none."""
        return 1.0 if some.all() else min(1.0 if self.is_known else _NEARLY, float(self.probability[some].sum()))

    def at_most(self, some: BoolArray) -> float:
        """The highest probability, with what an estimate may have missed."""
        return min(1.0, self.of(some) + self._estimated[1]) if some.any() else 0.0


def feasible_to_find(nodes: int, percentage: int = 0) -> int:
    """After how many feasible nodes the search ends, out of ``nodes``.

    ``percentage`` is ``percentageOfNodesToScore``; 0 is the default, a share that falls as clusters grow.
    """
    if nodes < _LEAST:
        return nodes
    share = percentage or max(_MOST_PERCENTAGE - nodes // _NODES_PER_PERCENT, _LEAST_PERCENTAGE)
    return max(nodes * share // 100, _LEAST)


@dataclass(slots=True, frozen=True)
class _Visited:
    """Some feasible nodes as they are visited."""

    #: In that order, round and back to those that were visited first.
    nodes: IntArray
    #: How probable the window is that begins at each of them.
    weights: Weights


class Sampling:
    """Which nodes of one cluster could win under one profile, and how probable each is."""

    def __init__(self, nodes: Nodes, plugins: Sequence[WeightedPlugin], percentage: int = 0) -> None:
        self._nodes = nodes
        self._relative = [(each.plugin, each.weight) for each in plugins if isinstance(each.plugin, RelativePlugin)]
        self._percentage = percentage
        #: By the feasible nodes, of which sets recur.
        self._feasible: LruCache[bytes, _Visited] = LruCache(_CAPACITY)
        nodes.follow(NodePart.POSITION | NodePart.LABELS, self._forget)

    def found(self, feasible: BoolArray, allowed: BoolArray | None, start: int) -> tuple[IntArray, int]:
        """The feasible nodes that a search finds which begins at a place in visiting order, and where the next one begins.

        ``allowed`` are the nodes that PreFilter plugins left (None: all): only those are visited.
        """
        order = self._order if allowed is None else self._order[allowed[self._order]]
        size = feasible_to_find(len(order), self._percentage)
        if np.count_nonzero(feasible) <= size:
            # All nodes are visited.
            return np.flatnonzero(feasible), (start + len(order)) % max(len(self._nodes), 1)
        places = np.flatnonzero(feasible[order])
        begin = int(np.searchsorted(places, start % len(order)))
        # A search that comes to the end goes on with the nodes that stand first.
        visited = np.concatenate((places[begin : begin + size], places[: max(begin + size - len(places), 0)]))
        seen = (int(visited[-1]) - start) % len(order) + 1
        return np.sort(order[visited]), (start + seen) % len(self._nodes)

    def odds(self, pod: int, ranking: Ranking, allowed: BoolArray | None = None) -> LandingOdds:
        """The nodes that have the best score in some window, ties included, and how probable each is.

        ``ranking`` is the pod's on the state as it is, ``allowed`` the nodes that PreFilter plugins left (None: all).
        Those come in any order, so any of them may be found together. Where 100 and more of them are left and scores
        depend on which ones are found, the answer is every feasible node, which may be too many.
        """
        offered = len(self._nodes) if allowed is None else int(np.count_nonzero(allowed))
        size = feasible_to_find(offered, self._percentage)
        if np.count_nonzero(ranking.feasible) <= size:
            return LandingOdds.equal(ranking.best)
        if allowed is not None:
            return LandingOdds.unknown(self._in_any_order(pod, ranking, size))
        return self._in_windows(pod, ranking, size)

    def _forget(self) -> None:
        self._feasible = LruCache(_CAPACITY)
        for name in ("_order", "_place"):
            self.__dict__.pop(name, None)

    def _in_any_order(self, pod: int, ranking: Ranking, size: int) -> IntArray:
        """A node wins if there are enough others that are no better."""
        if any(plugin.relative(pod, ranking.nodes) is not None for plugin, _ in self._relative):
            return ranking.nodes
        winners: IntArray = ranking.nodes[ranking.total >= np.partition(ranking.total, size - 1)[size - 1]]
        return winners

    def _in_windows(self, pod: int, ranking: Ranking, size: int) -> LandingOdds:
        found = self._visited(ranking.feasible, size)
        visited = found.nodes
        asked = [(plugin, weight, plugin.relative(pod, visited)) for plugin, weight in self._relative]
        relative = [(weight, scores.scores(size)) for _, weight, scores in asked if scores is not None]
        kinds = [scores.kinds for _, _, scores in asked if scores is not None]
        fixed = windows.narrow(ranking.without([plugin for plugin, _, scores in asked if scores is not None])[visited])
        added = AddedScores.of(relative, kinds) if relative else None
        count, everywhere = len(visited) - size + 1, len(self._nodes)
        won, missed = shares(fixed, added, found.weights, size)
        probability = _by_node(visited[:count], won, np.add, everywhere)
        if added is None or not missed:
            # What wins in any window has a share.
            nodes = np.flatnonzero(probability)
        else:
            nodes = np.flatnonzero(_by_node(visited[:count], _winners(fixed, added, size), np.logical_or, everywhere))
        return LandingOdds(nodes, lambda: (probability[nodes], missed))

    def _visited(self, feasible: BoolArray, size: int) -> _Visited:
        key = feasible.tobytes()
        known = self._feasible.get(key)
        if known is None:
            visited = self._order[feasible[self._order]]
            # The last windows go over the end.
            nodes = np.concatenate((visited, visited[: size - 1]))
            known = _Visited(nodes, window_weights(self._place[visited], len(self._nodes)))
            self._feasible.put(key, known)
        return known

    @cached_property
    def _order(self) -> IntArray:
        return visiting_order(self._nodes.labels)

    @cached_property
    def _place(self) -> IntArray:
        """Where each node stands in visiting order."""
        return np.argsort(self._order)


def _by_node(visited: IntArray, entries: npt.NDArray[Any], join: np.ufunc, nodes: int) -> npt.NDArray[Any]:
    """Values in visiting order, by node; the first ones stand there twice."""
    count = len(visited)
    once = entries[:count].copy()
    again = entries[count:]
    once[: len(again)] = join(once[: len(again)], again)
    by_node = np.zeros(nodes, dtype=entries.dtype)
    by_node[visited] = once
    return by_node


def _winners(fixed: Scores, added: AddedScores, size: int) -> BoolArray:
    """Which entries have the highest total in some window of which they are part, where few windows stand for all.

    What an entry gets in any window lies between two bounds. Whether it wins nearly always follows from those.
    """
    lower = fixed + added.least[added.kinds]
    upper = fixed + added.most[added.kinds]
    least, most = windows.highest(lower, size), windows.highest(upper, size)
    won, contenders = _reaching(lower, most, size), _reaching(upper, least, size)
    doubtful = contenders & ~won
    if doubtful.any():
        reached = windows.highest(np.where(doubtful, upper, np.iinfo(upper.dtype).min), size)
        for number, found in added.by_scale(np.flatnonzero(reached >= least)):
            for some, part in windows.stretches(found, size):
                total = fixed[part] + added.table[number][added.kinds[part]]
                won[part] |= _highest_in(total, some - part.start, size)
    return won


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


# Zones come in the order in which their first node was added, nodes of a zone in the order in which they were added.
# The input does not say when that was. restow adds nodes by name, as a scheduler does that lists them when it starts;
# nodes that come later stand at the end of their zone until it starts again. Source: nodeTree and GetZoneKey,
# Kubernetes 1.36.
def visiting_order(labels: Iterable[Mapping[str, str]]) -> IntArray:
    """The order to visit nodes in, as positions in the given order of adding: the first of every zone, then the second."""
    zones: Interner[tuple[str, str]] = Interner()
    zone: IntArray = np.fromiter((zones.id(_zone(node)) for node in labels), dtype=np.int64)
    by_zone = np.argsort(zone, kind="stable")
    first = np.searchsorted(zone[by_zone], zone)
    place = np.empty_like(zone)
    place[by_zone] = np.arange(len(zone))
    order: IntArray = np.lexsort((zone, place - first))
    return order


def _zone(labels: Mapping[str, str]) -> tuple[str, str]:
    return _first(labels, _REGION), _first(labels, _ZONE)


def _first(labels: Mapping[str, str], keys: tuple[str, ...]) -> str:
    return next((labels[key] for key in keys if key in labels), "")
