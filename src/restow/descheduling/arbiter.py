"""The arbiter: the only place where a suggestion becomes a move.

It decides in one order - evictor, limits, budgets, placement - and writes down every move and every refusal with stage,
code and sentence. An accepted move is applied to the state at once, so the next suggestion sees the cluster as it would
be. In ``upstream`` placement, which this module implements, budgets and placement are not asked: the Descheduler's own
dry run never looks at a budget, and it only asks nodeFit, through the evictor, where the policy says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.state import ClusterState
from restow.descheduling.evictor import DefaultEvictor, Reason
from restow.descheduling.framework import Owed, StrategyError, Suggestion, Suggestions, Verdict
from restow.descheduling.limits import Limits


class Turn(NamedTuple):
    """Whose suggestions are being settled."""

    profile: str
    plugin: str


class Eviction(NamedTuple):
    """A decided move, by index."""

    pod: int
    node: int
    turn: Turn
    reason: str


class Refused(NamedTuple):
    """A refused suggestion, by index."""

    pod: int
    node: int
    turn: Turn
    reason: Reason


class Arbiter:
    """Decides for one cycle on one state."""

    def __init__(self, state: ClusterState, limits: Limits) -> None:
        self._state = state
        self._limits = limits
        self._refusals: dict[tuple[Turn, int], Refused] = {}
        #: Decided moves, in order.
        self.evictions: list[Eviction] = []
        #: (turn, message) of strategies that could not work.
        self.problems: list[tuple[Turn, str]] = []
        #: (turn, message) of strategies that found nothing to do.
        self.notes: list[tuple[Turn, str]] = []

    def refusals(self) -> Iterator[Refused]:
        """Every pod that a strategy wanted and that stays after all, once for each strategy."""
        return (each for each in self._refusals.values() if self._state.exists[each.pod])

    def settle(self, turn: Turn, suggestions: Suggestions, evictor: DefaultEvictor) -> None:
        """Hear a strategy to its end."""
        try:
            suggestion = next(suggestions)
            while True:
                suggestion = suggestions.send(self._decide(turn, suggestion, evictor))
        except StopIteration:
            pass
        except StrategyError as error:
            self.problems.append((turn, str(error)))

    def refuse(self, turn: Turn, evictor: DefaultEvictor, pods: IntArray) -> None:
        """Note candidates that the evictor's filters hold back."""
        for pod, reason in zip(pods.tolist(), evictor.refusals(pods), strict=True):
            self._hold_back(turn, pod, reason)

    def note(self, turn: Turn, message: str) -> None:
        """Write down what a strategy says of itself."""
        self.notes.append((turn, message))

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
        limit = self._limits.refusal(self._state, pod)
        if limit is not None:
            verdict, code, message = limit
            self._hold_back(turn, pod, ("limit", code, message))
            return verdict
        self._evict(turn, suggestion)
        return Verdict.EVICTED

    def _passes(self, suggestion: Suggestion, evictor: DefaultEvictor) -> bool:
        if suggestion.owed is Owed.ALL:
            return evictor.passes_all(suggestion.pod)
        return evictor.passes_late(suggestion.pod)

    def _evict(self, turn: Turn, suggestion: Suggestion) -> None:
        pod = suggestion.pod
        self._limits.count(self._state, pod)
        self.evictions.append(Eviction(pod, int(self._state.node[pod]), turn, suggestion.reason))
        self._state.remove(pod)

    def _hold_back(self, turn: Turn, pod: int, reason: Reason) -> None:
        self._refusals.setdefault((turn, pod), Refused(pod, int(self._state.node[pod]), turn, reason))
