"""The arbiter: the only place where a suggestion becomes a move.

It decides in one order - evictor, limits, budgets, placement - and writes down every move and every refusal with stage,
code and sentence. An accepted move is applied to the state at once, so the next suggestion sees the cluster as it would
be. The last two are asked of the placement that the plan is made with (``descheduling.placement``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState
from restow.descheduling.evictor import DefaultEvictor, Reason
from restow.descheduling.framework import Owed, StrategyError, Suggestion, Suggestions, Verdict
from restow.descheduling.limits import LimitRefusal, Limits
from restow.descheduling.placement import Landing, Placing, Turn


class Eviction(NamedTuple):
    """A decided move, by index."""

    pod: int
    node: int
    turn: Turn
    reason: str
    landing: Landing


class Refused(NamedTuple):
    """A refused suggestion, by index."""

    pod: int
    node: int
    turn: Turn
    reason: Reason


@dataclass(slots=True, frozen=True)
class Record:
    """What was decided in a cycle."""

    #: Decided moves, in order.
    evictions: tuple[Eviction, ...]
    #: Every pod that a strategy wanted and that stays after all, once for each strategy.
    refusals: tuple[Refused, ...]
    #: Strategies that could not work, and why.
    problems: tuple[tuple[Turn, str], ...]
    #: Strategies that found nothing to do, and why.
    notes: tuple[tuple[Turn, str], ...]
    #: What hearing each strategy took; no part of what was decided.
    seconds: Mapping[Turn, float] = field(default_factory=dict, compare=False)


class Arbiter:
    """Decides for one cycle on one state."""

    def __init__(self, state: ClusterState, limits: Limits, placing: Placing) -> None:
        self._state = state
        self._observed = state.cluster.pods.observed
        self._limits = limits
        self._placing = placing
        self._refusals: dict[tuple[Turn, int], Refused] = {}
        #: Whose turn it is, counted from 0.
        self._position = -1
        self._evictions: list[Eviction] = []
        self._problems: list[tuple[Turn, str]] = []
        self._notes: list[tuple[Turn, str]] = []
        self._seconds: dict[Turn, float] = {}

    def record(self) -> Record:
        """What has been decided so far."""
        staying = (each for each in self._refusals.values() if self._state.exists[each.pod])
        return Record(
            tuple(self._evictions), tuple(staying), tuple(self._problems), tuple(self._notes), dict(self._seconds)
        )

    def landing_of(self, pod: int) -> int:
        """Where the replacement of the last moved pod landed; PENDING for any other pod, or where that is not known."""
        last = self._evictions[-1] if self._evictions else None
        return last.landing.target if last is not None and last.pod == pod else PENDING

    def moved_from(self, node: int) -> int:
        """How many pods the strategy whose turn it is has moved from a node in this plan."""
        return self._limits.moved(self._position, node)

    def settle(self, turn: Turn, suggestions: Suggestions, evictor: DefaultEvictor) -> None:
        """Hear a strategy to its end; strategies come in the same order in every round of a plan."""
        self._position += 1
        began = perf_counter()
        try:
            suggestion = next(suggestions)
            while True:
                suggestion = suggestions.send(self._decide(turn, suggestion, evictor))
        except StopIteration:
            pass
        except StrategyError as error:
            self._problems.append((turn, str(error)))
        self._seconds[turn] = self._seconds.get(turn, 0.0) + perf_counter() - began

    def refuse(self, turn: Turn, evictor: DefaultEvictor, pods: IntArray) -> None:
        """Note candidates that the evictor's filters hold back."""
        for pod, reason in zip(pods.tolist(), evictor.refusals(pods), strict=True):
            self._hold_back(turn, pod, reason)

    def note(self, turn: Turn, message: str) -> None:
        """Write down what a strategy says of itself."""
        self._notes.append((turn, message))

    def _decide(self, turn: Turn, suggestion: Suggestion, evictor: DefaultEvictor) -> Verdict:
        pod = suggestion.pod
        if not self._state.exists[pod]:
            # Limits are asked before anybody notices that the pod is gone.
            spent = self._limits.refusal(self._state, pod)
            return spent[0] if spent else Verdict.REFUSED
        if suggestion.owed is not Owed.NOTHING and not self._passes(suggestion, evictor):
            self.refuse(turn, evictor, np.array([pod]))
            return Verdict.REFUSED
        if not self._state.cluster.pods.uids[pod]:
            self._hold_back(turn, pod, ("evictor", "MissingUID", "pod is missing UID"))
            return Verdict.REFUSED
        limit = self._limit(pod)
        if limit is not None:
            verdict, code, message = limit
            self._hold_back(turn, pod, ("limit", code, message))
            return verdict
        return self._place(turn, suggestion)

    def _limit(self, pod: int) -> LimitRefusal | None:
        # Of a replacement the question is not whether it may go now, but whether a later plan would move it again.
        return self._limits.refusal(self._state, pod) if self._observed[pod] else None

    def _place(self, turn: Turn, suggestion: Suggestion) -> Verdict:
        pod, node = suggestion.pod, int(self._state.node[suggestion.pod])
        landing = self._placing.move(turn, suggestion)
        if not isinstance(landing, Landing):
            self._hold_back(turn, pod, landing)
            return Verdict.REFUSED
        self._limits.count(self._state, pod, node, self._position)
        self._evictions.append(Eviction(pod, node, turn, suggestion.reason, landing))
        return Verdict.EVICTED

    def _passes(self, suggestion: Suggestion, evictor: DefaultEvictor) -> bool:
        if suggestion.owed is Owed.ALL:
            return evictor.passes_all(suggestion.pod)
        return evictor.passes_late(suggestion.pod)

    def _hold_back(self, turn: Turn, pod: int, reason: Reason) -> None:
        if self._observed[pod]:
            self._refusals.setdefault((turn, pod), Refused(pod, int(self._state.node[pod]), turn, reason))
