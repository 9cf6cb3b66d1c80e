"""Scoring: which of the feasible nodes a pod would go to.

Every score plugin gives 0..100 to each feasible node, its weight multiplies that, and the highest total wins. Where
several nodes have it, any of them may win: kube-scheduler's choice depends on the order in which its workers finish.
restow names them all and picks the first by name. Source: prioritizeNodes and selectHost, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from restow.cluster.interning import IntArray
from restow.scheduling.framework import MAX_SCORE, ScorePlugin, Scores


@dataclass(slots=True, frozen=True)
class WeightedPlugin:
    """A score plugin with its weight in the profile."""

    plugin: ScorePlugin
    weight: int


@dataclass(slots=True, frozen=True)
class Ranking:
    """The scores of the feasible nodes."""

    nodes: IntArray
    #: Weighted scores by plugin, int64[len(nodes)]; plugins without an opinion are absent.
    by_plugin: Mapping[str, Scores]
    total: Scores

    @property
    def best(self) -> IntArray:
        """The nodes with the highest total, in order of their names."""
        best: IntArray = self.nodes[self.total == self.total.max()]
        return best


def rank(pod: int, nodes: IntArray, plugins: Sequence[WeightedPlugin]) -> Ranking:
    """Score the feasible nodes (at least one) for a pod on the state as it is."""
    total = np.zeros(len(nodes), dtype=np.int64)
    by_plugin: dict[str, Scores] = {}
    for weighted in plugins:
        score = weighted.plugin.score(pod, nodes)
        if score is not None:
            assert np.all((score >= 0) & (score <= MAX_SCORE)), f"{weighted.plugin.name} scores out of range"
            by_plugin[weighted.plugin.name] = weighted.weight * score
            total += by_plugin[weighted.plugin.name]
    return Ranking(nodes, by_plugin, total)
