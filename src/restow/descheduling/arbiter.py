"""The arbiter: the only place where a suggestion becomes a move.

It decides in one order - evictor, limits, budgets, placement - and writes down every move and every refusal with stage,
code and sentence. An accepted move is applied to the state at once, so the next suggestion sees the cluster as it would
be. The last two are asked of the placement that the plan is made with (``descheduling.placement``). The moves of a
proposal pass each stage together, and are refused once: a single suggestion is a proposal of one move.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import numpy as np
from msgspec import structs

from restow.cluster.interning import IntArray
from restow.cluster.pods import NO_POD, PENDING
from restow.cluster.state import ClusterState
from restow.descheduling.aside import NONE_ASIDE, PodsAside
from restow.descheduling.evictor import DefaultEvictor
from restow.descheduling.framework import (
    EarlierSearch,
    PendingFilters,
    Proposal,
    Reason,
    StrategyError,
    Suggestion,
    Suggestions,
    Verdict,
)
from restow.descheduling.groups import MovingGroups
from restow.descheduling.limits import Limits
from restow.descheduling.placement import DIGITS, Landing, Obstacle, Placing, PluginRef, certainty_of, joint_probability
from restow.descheduling.plan import GoalResult
from restow.policies.codes import Certainty, PlacementConstraint, RefusalCode, Stage

#: Refusals that say that a replacement has no place where it would do any good.
_NO_PLACE = (RefusalCode.NO_FIT, RefusalCode.NO_GAIN)


class Together(NamedTuple):
    """The proposal that a decided move is part of."""

    purpose: str
    #: How many moves it has.
    moves: int
    #: How sure it is that all of them succeed; None if the placement does not predict it.
    certainty: Certainty | None
    #: The least probability that all of them succeed; None where that is not known.
    probability: float | None


class Eviction(NamedTuple):
    """A decided move, by index."""

    pod: int
    node: int
    ref: PluginRef
    reason: str
    constraint: PlacementConstraint
    landing: Landing
    #: The proposal that it is part of; None for a suggestion of its own.
    together: Together | None = None
    #: The measured usage of the pod, if the strategy uses it.
    used: Mapping[str, int] | None = None


#: What each strategy searched for in a plan, for those that say so (``View.keep``).
Searches = Mapping[PluginRef, EarlierSearch]

#: A strategy, and the pod or the purpose of the proposal that it was refused.
RefusalKey = tuple[PluginRef, int | str]


class RefusedSuggestion(NamedTuple):
    """A refused suggestion, by index. For a refused proposal: the first of its moves that cannot be made."""

    pod: int
    node: int
    ref: PluginRef
    reason: Reason
    #: What the proposal was to do; empty for a suggestion of its own.
    purpose: str = ""
    #: The other pods of the proposal, which stay too.
    others: tuple[int, ...] = ()
    #: Of a limit: why a higher one would not help, because the placement refuses the moves too. None where it does not,
    #: and where that was not asked.
    beyond_limit: Reason | None = None

    @property
    def key(self) -> RefusalKey:
        """Refusals with the same key count once in a plan."""
        return self.ref, self.purpose or self.pod

    def without(self, moved: Collection[int]) -> RefusedSuggestion:
        """The refusal without other pods that moved after all."""
        left = tuple(each for each in self.others if each not in moved)
        return self if len(left) == len(self.others) else self._replace(others=left)


@dataclass(slots=True, frozen=True)
class Record:
    """What was decided in a cycle."""

    #: Decided moves, in order.
    evictions: tuple[Eviction, ...]
    #: Every pod that a strategy wanted and that stays after all, once for each strategy.
    refusals: tuple[RefusedSuggestion, ...]
    #: Strategies that could not work, and why.
    problems: tuple[tuple[PluginRef, str], ...]
    #: Strategies that found nothing to do, and why.
    notes: tuple[tuple[PluginRef, str], ...]
    #: What was refused for a limit. Two equal decisions have equal refusals, and functions of their own in these.
    limited: Mapping[RefusalKey, Sequence[Suggestion]] = field(default_factory=dict, compare=False)
    #: How near strategies with a goal have come to it.
    #: By strategy and name.
    goals: Mapping[tuple[PluginRef, str], GoalResult] = field(default_factory=dict)
    #: What the next plan shall know of the searches of strategies.
    searches: Searches = field(default_factory=dict)
    #: How long each strategy took in seconds. A measurement, so two equal decisions may differ in it.
    seconds: Mapping[PluginRef, float] = field(default_factory=dict, compare=False)


class Arbiter:
    """Decides for one cycle on one state."""

    def __init__(
        self,
        state: ClusterState,
        limits: Limits,
        placing: Placing,
        groups: MovingGroups | None = None,
        aside: PodsAside = NONE_ASIDE,
    ) -> None:
        """``groups`` move together; None: each pod is moved as it is suggested. Nothing is said of pods that are ``aside``."""
        self._state = state
        self._groups = groups
        self.aside = aside
        #: Proposals to move a group that failed because of another pod than the one that was suggested, until something moves.
        self._stuck: set[tuple[PluginRef, str]] = set()
        self._pods = state.cluster.pods
        self._limits = limits
        self._placing = placing
        self._refusals: dict[RefusalKey, RefusedSuggestion] = {}
        self._limited: dict[RefusalKey, Sequence[Suggestion]] = {}
        #: Whose turn it is, counted from 0.
        self._position = -1
        self._evictions: list[Eviction] = []
        self._problems: list[tuple[PluginRef, str]] = []
        self._notes: list[tuple[PluginRef, str]] = []
        self._goals: dict[tuple[PluginRef, str], GoalResult] = {}
        self._searches: dict[PluginRef, EarlierSearch] = {}
        self._seconds: dict[PluginRef, float] = {}

    def record(self) -> Record:
        """What has been decided so far."""
        moved = {each.pod for each in self._evictions}
        staying = (each.without(moved) for each in self._refusals.values() if self._state.exists[each.pod])
        return Record(
            tuple(self._evictions),
            tuple(staying),
            tuple(self._problems),
            tuple(self._notes),
            dict(self._limited),
            dict(self._goals),
            dict(self._searches),
            dict(self._seconds),
        )

    def landing_of(self, pod: int) -> int:
        """The node of the replacement of a pod that was just moved; PENDING for any other pod, or if it is not known."""
        last = self._evictions[-1].together if self._evictions else None
        made = self._evictions[-(last.moves if last else 1) :]
        return next((each.landing.target for each in made if each.pod == pod), PENDING)

    def moved_from(self, node: int) -> int:
        """How many pods the current strategy has moved from a node in this plan."""
        return self._limits.moved(self._position, node)

    def settle(self, ref: PluginRef, suggestions: Suggestions, evictor: DefaultEvictor) -> None:
        """Decide every suggestion of a strategy. Call it for the strategies in the same order in every round of a plan."""
        self._position += 1
        began = perf_counter()
        try:
            suggestion = next(suggestions)
            while True:
                suggestion = suggestions.send(self._decide(ref, suggestion, evictor))
        except StopIteration:
            pass
        except StrategyError as error:
            self._problems.append((ref, str(error)))
        self._seconds[ref] = self._seconds.get(ref, 0.0) + perf_counter() - began

    def refuse(self, ref: PluginRef, evictor: DefaultEvictor, pods: IntArray) -> None:
        """Record a refusal for each of these pods, which the evictor's filters reject."""
        if self.aside:
            pods = pods[~self.aside.of(pods)]
        for pod, reason in zip(pods.tolist(), evictor.refusals(pods), strict=True):
            self._hold_back(ref, [pod], Obstacle(0, reason), "")

    def note(self, ref: PluginRef, message: str) -> None:
        """Record what a strategy says about itself, such as why it finds nothing to do."""
        self._notes.append((ref, message))

    def report(self, ref: PluginRef, result: GoalResult) -> None:
        """Record how near a strategy has come to its goal."""
        self._goals[ref, result.goal] = structs.replace(result, profile=ref.profile, plugin=ref.plugin)

    def keep(self, ref: PluginRef, search: EarlierSearch) -> None:
        """Keep what a strategy wants to know in the next plan; places of several searches are kept together."""
        self._searches[ref] = search.after(self._searches.get(ref))

    def _decide(self, ref: PluginRef, asked: Suggestion | Proposal, evictor: DefaultEvictor) -> Verdict:
        suggestions = asked.suggestions if isinstance(asked, Proposal) else (asked,)
        purpose = asked.purpose if isinstance(asked, Proposal) else ""
        pods = [each.pod for each in suggestions]
        if self.aside and self.aside.has_any(pods):
            return Verdict.REFUSED
        if not all(map(self._state.exists.item, pods)):
            # Limits are asked before the pod is seen to be gone.
            limit = self._limits.refusal(self._state, pods[0])
            return limit[0] if limit else Verdict.REFUSED
        if self._groups is None or not self._groups.numbers(pods):
            return self._settle(ref, suggestions, purpose, evictor)[1]
        whole = self._groups.completed(suggestions)
        if self.aside and self.aside.has_any([each.pod for each in whole]):
            return Verdict.REFUSED
        if not purpose and len(whole) > 1:
            purpose = f"move {self._groups.title(pods[0])}"
        return self._settle_group(ref, whole, purpose, evictor, pods)

    def _settle_group(
        self,
        ref: PluginRef,
        whole: Sequence[Suggestion],
        purpose: str,
        evictor: DefaultEvictor,
        suggested: Sequence[int],
    ) -> Verdict:
        """Decide about whole groups. What holds back a pod that was not suggested says nothing about those that were."""
        assert self._groups is not None
        if (ref, purpose) in self._stuck:
            return Verdict.REFUSED
        pods = [each.pod for each in whole]
        found = self._groups.obstacle(pods)
        if found is not None:
            obstacle, verdict = Obstacle(*found), Verdict.REFUSED
            self._hold_back(ref, pods, obstacle, purpose)
        else:
            held_back, verdict = self._settle(ref, whole, purpose, evictor)
            if held_back is None:
                self._stuck.clear()
                return verdict
            obstacle = held_back
        if pods[obstacle.position] in suggested or verdict is Verdict.TOTAL_LIMIT:
            return verdict
        self._stuck.add((ref, purpose))
        return Verdict.REFUSED

    def _settle(
        self, ref: PluginRef, suggestions: Sequence[Suggestion], purpose: str, evictor: DefaultEvictor
    ) -> tuple[Obstacle | None, Verdict]:
        """Make the moves, or record why not; returns what holds them back, and the verdict."""
        pods = [each.pod for each in suggestions]
        obstacle, verdict = self._protected(suggestions, evictor), Verdict.REFUSED
        if obstacle is None:
            obstacle, verdict = self._beyond_limits(pods)
        if obstacle is None:
            obstacle, verdict = self._place(ref, suggestions, purpose)
        if obstacle is not None:
            refused = self._hold_back(ref, pods, obstacle, purpose)
            if refused is not None and obstacle.reason[0] is Stage.LIMIT:
                self._limited.setdefault(refused.key, suggestions)
        return obstacle, verdict

    def _protected(self, suggestions: Sequence[Suggestion], evictor: DefaultEvictor) -> Obstacle | None:
        """The first pod that the evictor rejects. It is asked only about checks that are still pending."""
        for position, each in enumerate(suggestions):
            if each.pending is not PendingFilters.NOTHING and not self._passes(each, evictor):
                return Obstacle(position, evictor.refusals(np.array([each.pod]))[0])
            if not self._state.cluster.pods.uids[each.pod]:
                return Obstacle(position, (Stage.EVICTOR, RefusalCode.MISSING_UID, "pod is missing UID"))
        return None

    def _beyond_limits(self, pods: Sequence[int]) -> tuple[Obstacle | None, Verdict]:
        """The first pod whose eviction would exceed a limit.

        The verdict says that the limit is reached only if that is the first pod: otherwise a smaller proposal may still
        be within the limit.
        """
        limits = self._limits.copy() if len(pods) > 1 else self._limits
        for position, pod in enumerate(pods):
            # Of a replacement the question is not whether it may go now, but whether a later plan would move it again.
            if self._pods.replaces[pod] != NO_POD:
                continue
            refusal = limits.refusal(self._state, pod)
            if refusal is not None:
                verdict, code, message = refusal
                return Obstacle(position, (Stage.LIMIT, code, message)), Verdict.REFUSED if position else verdict
            if len(pods) > 1:
                limits.count(self._state, pod, int(self._state.node[pod]), self._position)
        return None, Verdict.REFUSED

    def _place(
        self, ref: PluginRef, suggestions: Sequence[Suggestion], purpose: str
    ) -> tuple[Obstacle | None, Verdict]:
        """Make all moves, or return why one of them is refused."""
        nodes = [int(self._state.node[each.pod]) for each in suggestions]
        landings = self._placing.move(ref, suggestions)
        if isinstance(landings, Obstacle):
            return landings, Verdict.NO_PLACE if landings.reason[1] in _NO_PLACE else Verdict.REFUSED
        whole = together(purpose, landings) if purpose else None
        for suggestion, node, landing in zip(suggestions, nodes, landings, strict=True):
            self._limits.count(self._state, suggestion.pod, node, self._position)
            self._evictions.append(
                Eviction(
                    suggestion.pod, node, ref, suggestion.reason, suggestion.constraint, landing, whole, suggestion.used
                )
            )
        return None, Verdict.EVICTED

    def _passes(self, suggestion: Suggestion, evictor: DefaultEvictor) -> bool:
        if suggestion.pending is PendingFilters.ALL:
            return evictor.passes_all(suggestion.pod)
        return evictor.passes_late(suggestion.pod)

    def _hold_back(
        self, ref: PluginRef, pods: Sequence[int], obstacle: Obstacle, purpose: str
    ) -> RefusedSuggestion | None:
        """Record one refusal for all of these pods. Replacements do not exist yet, so none is recorded for them."""
        position, reason = obstacle
        staying = [pod for pod in pods if self._pods.replaces[pod] == NO_POD]
        if not staying:
            return None
        pod = staying[0] if self._pods.replaces[pods[position]] != NO_POD else pods[position]
        staying.remove(pod)
        if purpose:
            reason = _all_or_none(reason, ref.plugin, purpose)
        refused = RefusedSuggestion(pod, int(self._state.node[pod]), ref, reason, purpose, tuple(staying))
        return self._refusals.setdefault(refused.key, refused)


def _all_or_none(reason: Reason, plugin: str, purpose: str) -> Reason:
    """The reason why one pod cannot move, and that therefore none of the proposal does."""
    stage, code, message = reason
    return stage, code, f"{message.removesuffix('.')}; so {plugin} does not {purpose}"


def together(purpose: str, landings: Sequence[Landing]) -> Together:
    """The proposal that some landings make up, with its certainty."""
    known = [each.probability for each in landings if each.probability is not None]
    if any(each.certainty is None for each in landings):
        return Together(purpose, len(landings), None, None)
    if len(known) < len(landings):
        return Together(purpose, len(landings), Certainty.POSSIBLE, None)
    probability = round(joint_probability(known), DIGITS)
    if all(each.certainty == Certainty.CERTAIN for each in landings):
        return Together(purpose, len(landings), Certainty.CERTAIN, probability)
    return Together(purpose, len(landings), certainty_of(probability, is_known=True), probability)
