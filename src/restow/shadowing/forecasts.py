"""Where the replacement of an evicted pod will land, foretold when the eviction is first seen.

The next pod of the controller is made in a ``Mirror`` of the cluster, as its template and admission would make it
(``workloads.replacements``), the scheduler decides about it, and everything is taken back. Replacements of evictions seen
before that have no node yet are put where they are expected first: the scheduler will place them first.

A controller replaces a pod while that terminates, but a pod that ends at once may be gone when the scheduler comes to its
replacement, and its room with it. Both cases are looked at, and weighed by how often they occurred in this cluster so far.
A replacement that comes later, or has to wait for room, meets a cluster that is not known yet: it may find other
terminating pods gone, and other pods may be faster. Such forecasts are likely at most, or possible where others wait too.

What was foretold as impossible and happened makes later forecasts less sure (``Habits.surprises``), for each of these
situations apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import IntArray
from restow.cluster.pods import NO_POD, PENDING, PodRow
from restow.cluster.state import ClusterState
from restow.descheduling.placement import certainty_of
from restow.policies.codes import Certainty
from restow.scheduling.cycle.mirror import Mirror
from restow.workloads.replacements import ReplacementPolicies, ReplacementPolicy, Replacements

#: Digits of probabilities that are no rounding errors of a sum.
_DIGITS: Final = 12
#: Ends the name of a replacement that is only foretold.
_MARK = "+replacement"


class LandingSituation(StrEnum):
    """When the scheduler comes to a replacement."""

    #: At once, and a node has room.
    AT_ONCE = "atOnce"
    #: Later, and no other pod comes or goes now.
    QUIET = "quiet"
    #: Later, because no node has room before pods have gone; others come and go.
    ROOM = "room"
    #: Later, because the controller waits until the old pod is gone, as with a StatefulSet; others come and go.
    AFTERWARDS = "afterwards"


@dataclass(slots=True, frozen=True)
class Habits:
    """What was seen in this cluster so far, as shares."""

    #: Of the pods whose controllers replace them at once: how many were gone before their replacement was placed.
    gone_first: float = 0.0
    #: Of the forecasts in a situation: how many were of something else than what happened, without any doubt.
    surprises: Mapping[LandingSituation, float] = field(default_factory=dict)


@dataclass(slots=True, frozen=True)
class Forecast:
    """What an eviction will come to; ``moved``, ``in_vain`` and ``pending`` are probabilities whose sum is 1."""

    #: The most probable node; empty where there is none.
    node: str = ""
    #: That it lands there; None where that is not known.
    node_probability: float | None = None
    #: How many nodes it could land on.
    candidates: int = 0
    #: That it lands on another node than the one that it left.
    moved: float = 0.0
    #: That it lands on the node that it left.
    in_vain: float = 0.0
    #: That it gets no node.
    pending: float = 0.0
    #: How sure the most probable of the three is; None where nothing is foretold.
    certainty: Certainty | None = None
    #: Why it gets no node, or why nothing is foretold.
    message: str = ""
    #: None where nothing is foretold.
    situation: LandingSituation | None = None
    #: The three probabilities before surprises were allowed for: moved, in vain, pending.
    undoubted: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(slots=True, frozen=True)
class Expected:
    """A replacement that has no node yet, and where it is expected."""

    #: Of the pod that is replaced.
    uid: str
    #: The row that it would have in ``state``.
    row: PodRow
    state: ClusterState
    node: str


def nothing_foretold(why: str) -> Forecast:
    """The forecast of an eviction about which nothing can be said."""
    return Forecast(message=why)


_NO_NODES: IntArray = np.zeros(0, dtype=np.int64)


@dataclass(slots=True, frozen=True)
class _Case:
    """What the scheduler would do in one of the cases, and how probable the case is."""

    weight: float
    #: Where the replacement could land; none where it stays pending.
    nodes: IntArray = field(default_factory=_NO_NODES.copy)
    #: How probable each of them is, float64[len(nodes)].
    probability: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    #: Whether nothing is missing that the probabilities depend on.
    is_known: bool = True
    message: str = ""
    #: Why it is not known what happens.
    problem: str = ""


class Forecaster:
    """Foretells landings on a mirror of the cluster, which is as before afterwards."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def forecast(
        self, pod: int, awaited: Iterable[Expected], arrived: Iterable[tuple[int, str]], now: int, habits: Habits
    ) -> tuple[Forecast, Expected | None]:
        """Foretell the landing of the replacement of a pod, and what later forecasts have to expect of it.

        ``awaited`` are replacements that do not exist yet, ``arrived`` those that do and have no node, by row, with the
        names of the nodes where they are expected. ``now`` is in nanoseconds since the epoch.
        """
        state = self._mirror.state
        policy = ReplacementPolicies(state.cluster).of(pod)
        if policy is ReplacementPolicy.NONE:
            return nothing_foretold("no controller creates another pod in its place"), None
        mark = state.checkpoint()
        try:
            for row, node in arrived:
                self._place(row, node)
            for each in awaited:
                if each.state is state:
                    self._place(state.create(each.row), each.node)
            return self._foretold(pod, policy, now, habits)
        finally:
            state.undo(mark)

    def _place(self, pod: int, node: str) -> None:
        at = self._mirror.state.node_called(node)
        if at >= 0:
            self._mirror.state.place(pod, at)

    def _foretold(
        self, pod: int, policy: ReplacementPolicy, now: int, habits: Habits
    ) -> tuple[Forecast, Expected | None]:
        state = self._mirror.state
        source, uid = int(state.node[pod]), state.cluster.pods.uids[pod]
        replacements = Replacements(state, now)
        row = self._row(pod, replacements)
        state.terminate(pod)
        replacement = state.create(row)
        if not self._mirror.schedulers.knows(replacement):
            return nothing_foretold("another scheduler than the configured ones places it"), None
        situation, cases = self._cases(pod, replacement, policy, habits.gone_first)
        found = _combined(self._mirror.state.cluster.nodes.names, cases, source)
        caveat = replacements.next_pod(pod).caveat
        cap = self._most(situation, replacement, caveat)
        doubted = _doubted(found, situation, habits.surprises.get(situation, 0.0), cap)
        return replace(doubted, message=doubted.message or caveat), Expected(uid, row, state, found.node)

    def _cases(
        self, pod: int, replacement: int, policy: ReplacementPolicy, gone_first: float
    ) -> tuple[LandingSituation, list[_Case]]:
        """In which situation the scheduler comes to the replacement, and what it may find; the old pod is removed."""
        state, beside = self._mirror.state, None
        if policy is ReplacementPolicy.OVERLAPPING:
            beside = self._case(replacement, 1.0 - gone_first)
        state.remove(pod)
        if beside is not None and (beside.nodes.size or beside.problem):
            return LandingSituation.AT_ONCE, [beside, self._case(replacement, gone_first)] if gone_first else [beside]
        if policy is ReplacementPolicy.NOT_NEEDED:
            # A pod that is over holds nothing any more, and its replacement comes now.
            return LandingSituation.AT_ONCE, [self._case(replacement, 1.0)]
        leaving, waits = np.flatnonzero(state.terminating & state.exists), self._others_wait(replacement)
        situation = LandingSituation.AFTERWARDS if policy is ReplacementPolicy.AFTERWARDS else LandingSituation.ROOM
        if not leaving.size:
            return situation if waits else LandingSituation.QUIET, [self._case(replacement, 1.0)]
        cases = [self._case(replacement, 0.5)]
        for each in leaving.tolist():
            state.remove(each)
        return situation, [*cases, self._case(replacement, 0.5)]

    def _most(self, situation: LandingSituation, replacement: int, caveat: str) -> Certainty:
        """How sure a forecast can be at most."""
        if situation is LandingSituation.AT_ONCE:
            return Certainty.LIKELY if caveat else Certainty.CERTAIN
        return Certainty.POSSIBLE if self._others_wait(replacement) else Certainty.LIKELY

    def _others_wait(self, replacement: int) -> bool:
        """Whether other pods have no node yet."""
        state = self._mirror.state
        waiting = state.holds_resources() & (state.node == PENDING) & ~state.terminating
        waiting[replacement] = False
        return bool(waiting.any())

    def _row(self, pod: int, replacements: Replacements) -> PodRow:
        """The row of the next pod, whose own claims are in the state from now on."""
        state = self._mirror.state
        pods = state.cluster.pods
        changes = replacements.changes(pod)
        for key, claim in replacements.own_claims(pod):
            state.put("PersistentVolumeClaim", key, claim)
        own = {"names": pods.names[pod] + _MARK, "replaces": NO_POD, "replaced_by": NO_POD, "rank": 0}
        return pods.row(pod) | changes | own

    def _case(self, replacement: int, weight: float) -> _Case:
        """What the scheduler says of the replacement on the state as it is."""
        decision = self._mirror.schedulers.decide(replacement)
        if decision.unknown or decision.error:
            return _Case(weight, problem=decision.message)
        if decision.ranking is not None:
            odds = self._mirror.schedulers.odds(decision)
            # What is not known of the odds, each node gets an equal share of.
            unknown = 1.0 - odds.probability.sum()
            return _Case(weight, odds.nodes, odds.probability + unknown / len(odds.nodes), is_known=odds.is_known)
        if decision.nominated_node != PENDING:
            # It waits for pods to leave the node for it, which may come to nothing.
            node, one = np.array([decision.nominated_node]), np.ones(1)
            return _Case(weight, node, one, is_known=False, message=decision.message)
        return _Case(weight, message=decision.message)


def _combined(names: Sequence[str], cases: Sequence[_Case], source: int) -> Forecast:
    """The forecast that some cases amount to."""
    problem = next((each.problem for each in cases if each.problem), "")
    if problem:
        return nothing_foretold(problem)
    nodes = np.zeros(len(names))
    for each in cases:
        nodes[each.nodes] += each.weight * each.probability
    in_vain = round(float(nodes[source]), _DIGITS) if source >= 0 else 0.0
    pending = sum((each.weight for each in cases if not each.nodes.size), 0.0)
    moved = max(0.0, 1.0 - in_vain - pending)
    is_known = all(each.is_known for each in cases)
    best = int(np.argmax(nodes))
    return Forecast(
        node=names[best] if pending < 1.0 else "",
        node_probability=float(nodes[best]) if is_known and pending < 1.0 else None,
        candidates=len(np.unique(np.concatenate([each.nodes for each in cases]))),
        moved=moved,
        in_vain=in_vain,
        pending=pending,
        certainty=certainty_of(max(moved, in_vain, pending), is_known=is_known),
        message=next((each.message for each in cases if each.message), ""),
        undoubted=(moved, in_vain, pending),
    )


def _doubted(found: Forecast, situation: LandingSituation, surprises: float, most: Certainty) -> Forecast:
    """The same with room for surprises: each outcome gets a share of what the others lose."""
    if found.certainty is None:
        return found
    moved, in_vain, pending = ((1.0 - surprises) * each + surprises * (1.0 - each) / 2 for each in found.undoubted)
    certainty = found.certainty
    if certainty is not Certainty.POSSIBLE:
        certainty = certainty_of(max(moved, in_vain, pending), is_known=True)
    return replace(
        found,
        moved=moved,
        in_vain=in_vain,
        pending=pending,
        node_probability=None if found.node_probability is None else found.node_probability * (1.0 - surprises),
        certainty=max(certainty, most, key=list(Certainty).index),
        situation=situation,
    )
