"""Scoring: which of the feasible nodes a pod would go to.

Every score plugin gives 0..100 to each feasible node, its weight multiplies that, and the highest total wins. Where
several nodes have it, any of them may win: kube-scheduler's choice depends on the order in which its workers finish.
restow names them all and picks the first by name. Source: prioritizeNodes and selectHost, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.scheduling.framework.extension_points import (
    MAX_SCORE,
    PhaseTimer,
    ScorePlugin,
    Scores,
    WidePlugin,
    at_feasible,
    untimed,
)

#: Up to this weight, what all plugins together say fits into narrow integers.
_LIGHT = 16
#: Less than any total.
_INFEASIBLE = -1


@dataclass(frozen=True)
class WeightedPlugin:
    """A score plugin with its weight in the profile."""

    plugin: ScorePlugin
    weight: int

    @cached_property
    def wide(self) -> WidePlugin | None:
        """The plugin, if it scores all nodes at once."""
        return self.plugin if isinstance(self.plugin, WidePlugin) else None

    def weigh(self, score: Scores) -> Scores:
        """The score, as often as it counts."""
        if self.weight == 1:
            return score
        return np.multiply(score, self.weight, dtype=np.int16 if self.weight <= _LIGHT else np.int64)


class Ranking:
    """The scores of the feasible nodes; what is not needed to find the best is worked out when it is read."""

    def __init__(
        self,
        feasible: BoolArray,
        scores: Sequence[tuple[WeightedPlugin, Scores | int]],
        total: Scores,
        constant: int = 0,
    ) -> None:
        # ``total`` is that of all nodes without the constant, less than any for those that are not feasible.
        #: bool[node].
        self.feasible = feasible
        self._total = total
        self._constant = constant
        self._scores = scores

    @property
    def first(self) -> int:
        """The first of the best nodes."""
        return int(self._total.argmax())

    @cached_property
    def best(self) -> IntArray:
        """The nodes with the highest total, in order of their names."""
        nodes: IntArray = (self._total == self._total.max()).nonzero()[0]
        return nodes

    @cached_property
    def nodes(self) -> IntArray:
        """The feasible nodes, in order of their names."""
        return np.flatnonzero(self.feasible)

    @cached_property
    def total(self) -> Scores:
        """The summed weighted scores, int64[len(nodes)]."""
        return self._total[self.nodes].astype(np.int64) + self._constant

    def without(self, plugins: Collection[ScorePlugin]) -> Scores:
        """The sum without what some plugins say, and without what is the same at all nodes; right for the feasible ones."""
        rest = self._total
        for each, score in self._scores:
            if each.plugin in plugins and not isinstance(score, int):
                rest = rest - each.weigh(score)
        return rest

    @cached_property
    def by_plugin(self) -> Mapping[str, Scores]:
        """Weighted scores by plugin, int64[len(nodes)]; plugins without an opinion are absent."""
        return {each.plugin.name: each.weight * self._checked(each.plugin.name, score) for each, score in self._scores}

    def _checked(self, name: str, score: Scores | int) -> Scores:
        found: Scores = np.broadcast_to(score, len(self._total))[self.nodes].astype(np.int64)
        assert np.all((found >= 0) & (found <= MAX_SCORE)), f"{name} scores out of range"
        return found


def rank(pod: int, feasible: BoolArray, plugins: Sequence[WeightedPlugin], timer: PhaseTimer = untimed) -> Ranking:
    """Score the feasible nodes, bool[node] (at least one), for a pod on the state as it is."""
    constant = 0
    total: Scores | None = None
    scores: list[tuple[WeightedPlugin, Scores | int]] = []
    for each in plugins:
        score = each.wide.score_all(pod, feasible) if each.wide else at_feasible(each.plugin, pod, feasible)
        timer("Score", each.plugin.name)
        if score is None:
            continue
        scores.append((each, score))
        if isinstance(score, int):
            constant += each.weight * score
        else:
            weighted = each.weigh(score)
            total = weighted if total is None else total + weighted
    if total is None or not feasible.all():
        total = np.where(feasible, 0 if total is None else total, _INFEASIBLE)
    return Ranking(feasible, scores, total, constant)


def best_of(pod: int, nodes: IntArray, plugins: Sequence[WeightedPlugin], timer: PhaseTimer = untimed) -> IntArray:
    """Those of some feasible nodes (at least one) that ``rank`` would find best if no others were feasible."""
    total: Scores | None = None
    for each in plugins:
        score = each.plugin.score(pod, nodes)
        timer("Score", each.plugin.name)
        if score is not None and not isinstance(score, int):
            weighted = each.weigh(score)
            total = weighted if total is None else total + weighted
    return nodes if total is None else nodes[total == total.max()]
