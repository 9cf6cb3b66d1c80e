"""From decisions to outcomes: indices become names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from restow.descheduling.plan import PodRef
from restow.reporting.schedule_result import PodOutcome, Rejection

if TYPE_CHECKING:
    from restow.cluster.interning import IntArray
    from restow.cluster.snapshot import Cluster
    from restow.scheduling.decision import Decision
    from restow.scheduling.scoring import Ranking
    from restow.scheduling.verdicts import PluginRejection, Verdicts

#: Of which pods scores are told: of all with a feasible node, or of those with more than one, which alone need them.
ScoresFor = Literal["all", "needed"]


class Outcomes:
    """Makes outcomes of the decisions about one cluster."""

    def __init__(self, cluster: Cluster, scores_for: ScoresFor) -> None:
        self._pods = cluster.pods
        self._names = cluster.nodes.names
        self._fewest_scored = 1 if scores_for == "all" else 2

    def of(self, decision: Decision) -> PodOutcome:
        """What was decided about a pod."""
        verdicts, current = decision.verdicts, int(self._pods.node[decision.pod])
        return PodOutcome(
            pod=self._ref(decision.pod),
            node=self._name(decision.node),
            current_node=self._name(current),
            nominated_node=self._name(decision.nominated_node),
            victims=tuple(map(self._ref, decision.victims)),
            message=decision.message,
            feasible=self._told(verdicts.feasible),
            best=self._told(decision.best),
            scores=self._scores(decision.ranking),
            rejected=self._rejected(verdicts),
            pre_filter=None if verdicts.prefilter is None else _rejection(verdicts.prefilter),
        )

    def gated(self, pod: int, why: str) -> PodOutcome:
        """The outcome of a pod that may not be scheduled yet."""
        return PodOutcome(self._ref(pod), node=None, gated=why)

    def _ref(self, pod: int) -> PodRef:
        pods = self._pods
        return PodRef(pods.tables.namespaces[pods.namespace[pod]], pods.names[pod], pods.uids[pod])

    def _name(self, node: int) -> str | None:
        return self._names[node] if node >= 0 else None

    def _told(self, nodes: IntArray) -> tuple[str, ...]:
        return tuple(self._names[node] for node in nodes.tolist())

    def _scores(self, ranking: Ranking | None) -> dict[str, dict[str, int]]:
        if ranking is None or len(ranking.nodes) < self._fewest_scored:
            return {}
        columns = (*ranking.by_plugin, "total")
        scores = (each.tolist() for each in (*ranking.by_plugin.values(), ranking.total))
        told = zip(self._told(ranking.nodes), zip(*scores, strict=True), strict=True)
        # Many nodes are scored alike; they share one mapping.
        known: dict[tuple[int, ...], dict[str, int]] = {}
        return {
            name: known.get(row) or known.setdefault(row, dict(zip(columns, row, strict=True))) for name, row in told
        }

    def _rejected(self, verdicts: Verdicts) -> dict[str, Rejection]:
        """Who rejects each node that was looked at; one that PreFilter excluded names no plugin, and is left out."""
        if verdicts.prefilter is not None:
            return {}
        occurring = (category for category in np.unique(verdicts.verdict).tolist() if category >= 0)
        told = {
            category: _rejection(verdicts.rejections[category])
            for category in occurring
            if verdicts.rejections[category].plugin
        }
        by_node = zip(self._names, verdicts.verdict.tolist(), strict=True)
        return {name: told[category] for name, category in by_node if category in told}


def _rejection(rejection: PluginRejection) -> Rejection:
    return Rejection(rejection.plugin, rejection.outcome.reasons, rejection.outcome.unresolvable)
