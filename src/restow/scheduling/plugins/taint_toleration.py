"""TaintToleration: hard taints keep pods away, PreferNoSchedule taints make nodes less welcome.

Both depend only on the pod's tolerations and the node's taints, of which there are few distinct ones: each pair is
judged once. Source: Kubernetes 1.33 to 1.37.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import NodePart
from restow.kube.objects import Taint, Toleration
from restow.kube.taints import HARD_EFFECTS, tolerates
from restow.scheduling.framework.caches import LruCache
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import SchedulerPlugin
from restow.scheduling.framework.extension_points import (
    MAX_SCORE,
    NO_PODS,
    PASSES,
    PROCEED,
    FilterResult,
    Outcome,
    PreFiltered,
    Scope,
    Scores,
    among,
    one_outcome,
    scaled,
)
from restow.scheduling.framework.minors import SHORT_TAINT_REASON, holds
from restow.scheduling.framework.requeueing import (
    Action,
    ClusterEvent,
    Interest,
    NodeFacts,
    PodFacts,
    Resource,
    about_itself,
)
from restow.scheduling.sampling.relative_scores import Peaked, RelativeScores

_GATED = frozenset({"Lt", "Gt"})

NAME = "TaintToleration"

_SOFT = "PreferNoSchedule"
_UNTOLERATED = Outcome(("node(s) had untolerated taint(s)",), unresolvable=True)


class TaintToleration:
    """Filter and score."""

    name = NAME
    scope = Scope.NODE

    def __init__(self, context: Context) -> None:
        self._nodes = context.state.cluster.nodes
        self._names_taints = not holds(SHORT_TAINT_REASON, context.state.cluster)
        self._pods = context.state.cluster.pods
        #: By tolerations: of each taint set, whether hard taints and how many soft ones are not tolerated, int64[2, taint set].
        self._untolerated: dict[int, np.ndarray[tuple[int, int], np.dtype[np.int64]]] = {}
        self._soft: dict[int, Scores | None] = {}
        #: By tolerations: of each taint set, why its nodes are rejected.
        self._named: dict[int, tuple[Outcome, ...]] = {}
        #: By tolerations and the highest number of soft taints.
        self._scores: LruCache[tuple[int, int], Scores] = LruCache()
        self._nodes.follow(NodePart.POSITION | NodePart.TAINTS, self._forget)

    def applies_to(self, _pod: int) -> bool:
        """Every pod."""
        return True

    def key(self, pod: int) -> int:
        """Its tolerations."""
        return int(self._pods.tolerations[pod])

    def prefilter(self, _pod: int) -> PreFiltered:
        """Every pod is looked at."""
        return PROCEED

    def affecting_pods(self, _pod: int) -> IntArray:
        """Pods do not matter."""
        return NO_PODS

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """Reject nodes with a NoSchedule or NoExecute taint that the pod does not tolerate."""
        taints = self._nodes.taints[nodes]
        is_rejected = self._counts(pod)[0][taints] > 0
        if self._names_taints:
            return FilterResult(np.where(is_rejected, taints, PASSES), self._naming(self.key(pod)))
        return one_outcome(is_rejected, _UNTOLERATED)

    def _naming(self, tolerations: int) -> tuple[Outcome, ...]:
        """By taint set, an outcome that names the first hard taint that is not tolerated. Source: Kubernetes 1.33."""
        known = self._named.get(tolerations)
        if known is None:
            tolerated = self._pods.tables.tolerations[tolerations]
            known = self._named[tolerations] = tuple(_naming(tolerated, taints) for taints in self._nodes.taint_sets)
        return known

    def score(self, pod: int, nodes: IntArray) -> Scores | int | None:
        """Fewer untolerated PreferNoSchedule taints are better."""
        return MAX_SCORE if self._soft_counts(pod) is None else among(self, pod, nodes, len(self._nodes))

    def score_all(self, pod: int, feasible: BoolArray) -> Scores | int:
        """The scores of all nodes."""
        raw = self._soft_counts(pod)
        if raw is None:
            return MAX_SCORE
        key = self.key(pod), int((raw * feasible).max())
        known = self._scores.get(key)
        if known is None:
            known = scaled(raw, key[1], reverse=True).astype(np.int16)
            self._scores.put(key, known)
        return known

    def relative(self, pod: int, nodes: IntArray) -> RelativeScores | None:
        """The scores in windows of the nodes."""
        raw = self._soft_counts(pod)
        return None if raw is None else Peaked.of(raw[nodes], partial(scaled, reverse=True))

    def _forget(self) -> None:
        self._untolerated, self._soft, self._named, self._scores = {}, {}, {}, LruCache()

    def _soft_counts(self, pod: int) -> Scores | None:
        """The soft taints of each node that are not tolerated; None where there are none."""
        key = self.key(pod)
        if key not in self._soft:
            untolerated = self._counts(pod)[1]
            self._soft[key] = untolerated[self._nodes.taints] if untolerated.any() else None
        return self._soft[key]

    def _counts(self, pod: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        identifier = int(self._pods.tolerations[pod])
        known = self._untolerated.get(identifier)
        if known is None:
            tolerations = self._pods.tables.tolerations[identifier]
            rows = [_untolerated(tolerations, taints) for taints in self._nodes.taint_sets]
            known = self._untolerated[identifier] = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        return known


def scheduler_tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether some toleration that counts for kube-scheduler matches the taint.

    The operators Lt and Gt are behind a feature gate that is off in Kubernetes 1.36: to the scheduler they match nothing,
    while the Descheduler honours them. Source: TaintToleration, TaintTolerationComparisonOperators.
    """
    return any(each.operator not in _GATED and tolerates(each, taint) for each in tolerations)


def tolerates_hard_taints(tolerations: tuple[Toleration, ...], taints: tuple[Taint, ...]) -> bool:
    """Whether a pod tolerates all NoSchedule and NoExecute taints of a node."""
    return all(taint.effect not in HARD_EFFECTS or scheduler_tolerates(tolerations, taint) for taint in taints)


def _naming(tolerations: tuple[Toleration, ...], taints: tuple[Taint, ...]) -> Outcome:
    for each in taints:
        if each.effect in HARD_EFFECTS and not scheduler_tolerates(tolerations, each):
            return Outcome((f"node(s) had untolerated taint {{{each.key}: {each.value}}}",), unresolvable=True)
    return _UNTOLERATED


def _untolerated(tolerations: tuple[Toleration, ...], taints: tuple[Taint, ...]) -> tuple[int, int]:
    soft_tolerations = [each for each in tolerations if each.effect in {"", _SOFT}]
    soft = sum(taint.effect == _SOFT and not scheduler_tolerates(soft_tolerations, taint) for taint in taints)
    return int(not tolerates_hard_taints(tolerations, taints)), soft


def _becomes_tolerable(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the pod tolerates the node's hard taints, and did not before."""
    old: NodeFacts | None = event.old
    new: NodeFacts = event.new
    return tolerates_hard_taints(pod.tolerations, new.taints) and (
        old is None or not tolerates_hard_taints(pod.tolerations, old.taints)
    )


PLUGIN = SchedulerPlugin(
    NAME,
    ("filter", "preScore", "score"),
    lambda context, _args: TaintToleration(context),
    weight=3,
    dependent=("score",),
    interests=(
        Interest(
            Resource.NODE,
            Action.ADD | Action.UPDATE_NODE_TAINT,
            _becomes_tolerable,
            "a node is added, or loses taints, so that it tolerates those that are left",
        ),
        Interest(Resource.POD, Action.UPDATE_POD_TOLERATION, about_itself, "it gets another toleration"),
    ),
)
