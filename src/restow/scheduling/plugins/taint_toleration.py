"""TaintToleration: hard taints keep pods away, PreferNoSchedule taints make nodes less welcome.

Both depend only on the pod's tolerations and the node's taints, of which there are few distinct ones: each pair is
judged once. Source: Kubernetes 1.36.
"""

from __future__ import annotations

import numpy as np

from restow.cluster.interning import IntArray
from restow.kube.objects import Taint, Toleration
from restow.scheduling.context import Context
from restow.scheduling.framework import PROCEED, Judgement, Outcome, PreFiltered, Scores, normalised, one_outcome
from restow.scheduling.tolerations import scheduler_tolerates

NAME = "TaintToleration"

_HARD = ("NoSchedule", "NoExecute")
_SOFT = "PreferNoSchedule"
_UNTOLERATED = Outcome(("node(s) had untolerated taint(s)",), unresolvable=True)


class TaintToleration:
    """Filter and score."""

    name = NAME
    local = True

    def __init__(self, context: Context) -> None:
        self._nodes = context.state.cluster.nodes
        self._pods = context.state.cluster.pods
        #: By tolerations: how many hard and soft taints of each taint set are not tolerated, int64[2, taint set].
        self._untolerated: dict[int, np.ndarray[tuple[int, int], np.dtype[np.int64]]] = {}

    def prefilter(self, _pod: int) -> PreFiltered:
        """Every pod is looked at."""
        return PROCEED

    def judge(self, pod: int, nodes: IntArray) -> Judgement:
        """Reject nodes with a NoSchedule or NoExecute taint that the pod does not tolerate."""
        return one_outcome(self._counts(pod)[0][self._nodes.taints[nodes]] > 0, _UNTOLERATED)

    def score(self, pod: int, nodes: IntArray) -> Scores:
        """Fewer untolerated PreferNoSchedule taints are better."""
        return normalised(self._counts(pod)[1][self._nodes.taints[nodes]], reverse=True)

    def _counts(self, pod: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        identifier = int(self._pods.tolerations[pod])
        known = self._untolerated.get(identifier)
        if known is None:
            tolerations = self._pods.tables.tolerations[identifier]
            rows = [_untolerated(tolerations, taints) for taints in self._nodes.taint_sets]
            known = self._untolerated[identifier] = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        return known


def _untolerated(tolerations: tuple[Toleration, ...], taints: tuple[Taint, ...]) -> tuple[int, int]:
    soft_tolerations = [each for each in tolerations if each.effect in {"", _SOFT}]
    hard = sum(taint.effect in _HARD and not scheduler_tolerates(tolerations, taint) for taint in taints)
    soft = sum(taint.effect == _SOFT and not scheduler_tolerates(soft_tolerations, taint) for taint in taints)
    return hard, soft
