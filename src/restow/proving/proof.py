"""``prove`` placement: a move is made only if the scheduler's own rules find a good place for the replacement.

For each suggestion the replacement is scheduled on the state as it would be then: while the old pod still terminates and,
only if it fits nowhere then, once the old pod is gone. ``proving.landings`` decides whether the landing is good. If it
is not, or if nothing fits, the pod stays and the state is restored. An accepted replacement keeps its place from then on.

If a replacement can be steered (``proving.steering``) and fits somewhere as soon as it is created, it lands on the node
that the plan chooses, and only the filters matter.

The moves of a proposal are proven in order, each on the state that those before it leave. If one cannot be made, none is.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from restow.cluster.pods import NO_POD, PENDING
from restow.descheduling.cycle import StrategyRunner
from restow.descheduling.framework import LandingCheck, Reason, Suggestion
from restow.descheduling.groups import MovingGroups
from restow.descheduling.placement import Landing, Obstacle, PluginRef
from restow.policies.codes import Certainty, PlacementConstraint, RefusalCode, ReplacementMode, Stage
from restow.proving.disruption_budgets import DisruptionBudgets
from restow.proving.landings import Landings, missing_kinds, no_place, only
from restow.proving.predictions import Caveats, PlacementPrediction, RefusalMemory, elsewhere_text
from restow.proving.steering import can_be_steered
from restow.proving.surges import SurgeChoice
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.loop.missing_data import MissingData
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.sampling.landing_odds import LandingOdds
from restow.workloads.quotas import QuotaRoom
from restow.workloads.replacements import ReplacementPolicy, Replacements


class MoveCycle(Struct, frozen=True):
    """A move that is useless, because a strategy would move the replacement again."""

    #: The pod whose move is useless.
    pod: int
    ref: PluginRef
    node: int


class Prover:
    """Makes proven moves on one state; one for each attempt at a plan."""

    def __init__(
        self,
        runner: StrategyRunner,
        replacements: Replacements,
        schedulers: Schedulers,
        budgets: DisruptionBudgets,
        missing_data: MissingData,
        *,
        forbidden: dict[int, Reason],
        groups: MovingGroups | None = None,
    ) -> None:
        """``forbidden`` are pods that must stay, with the reasons; ``groups`` move together, None: each pod by itself."""
        state, vetoes, certainty = runner.state, runner.vetoes, runner.policy.restow.certainty
        self._state = state
        self._replacements = replacements
        self._pods = state.cluster.pods
        self._nodes = state.cluster.nodes
        self._schedulers = schedulers
        self._budgets = budgets
        self._missing_data = missing_data
        self._landings = Landings(
            state.cluster, replacements, schedulers, missing_data, certainty=certainty, vetoes=vetoes
        )
        self._caveats = Caveats(state, replacements, certainty, vetoes, groups)
        self._surges = SurgeChoice(state.cluster, runner.policy.restow)
        self._steering = runner.steering
        self._forbidden = forbidden
        self._groups = groups
        #: The pods that leave because their group restarts, while the moves of that group are proven.
        self._restarting: frozenset[int] = frozenset()
        self._quotas = QuotaRoom.of(state, replacements)
        self._memory = RefusalMemory(state.cluster.pods, self._signature)
        #: The pod of each move for a better place, by workload, source and target.
        self._made: dict[tuple[int, int, int, int], int] = {}
        #: Useless moves that were found, in that order.
        self.move_cycles: list[MoveCycle] = []
        #: How many replacements have been scheduled: what a plan's time goes into.
        self.proofs = 0

    def watch(self, watchers: list[tuple[PluginRef, LandingCheck]]) -> None:
        """Use these landing checks from now on."""
        self._landings.watchers = watchers

    def move(self, ref: PluginRef, suggestions: Sequence[Suggestion]) -> tuple[Landing, ...] | Obstacle:
        """Prove the moves and make all of them, or return why one is refused and change nothing."""
        sources = [int(self._state.node[each.pod]) for each in suggestions]
        if any(self._pods.replaces[each.pod] != NO_POD for each in suggestions):
            return self._move_on(ref, suggestions, sources)
        obstacle = self._held_back(suggestions)
        if obstacle is not None:
            return obstacle
        mark = self._state.checkpoint()
        self._restart(suggestions)
        landings = self._land_all(ref, suggestions, sources)
        if not isinstance(landings, Obstacle):
            landings = self._one_way(ref, suggestions, sources, landings)
        if isinstance(landings, Obstacle):
            self._state.undo(mark)
            self._memory.keep()
            return landings
        for each in suggestions:
            self._budgets.count(each.pod)
            self._quotas.count(each.pod)
        self._memory.forget()
        return landings

    def obstacle(self, ref: PluginRef, suggestions: Sequence[Suggestion]) -> Obstacle | None:
        """Why the moves could not be made even if no limit forbade them; None if they could. The state stays as it is."""
        obstacle = self._held_back(suggestions)
        if obstacle is not None:
            return obstacle
        sources = [int(self._state.node[each.pod]) for each in suggestions]
        mark = self._state.checkpoint()
        self._restart(suggestions)
        known = self._recalled(ref, suggestions[0], sources[0]) if len(suggestions) == 1 else None
        if known is None:
            landings = self._land_all(ref, suggestions, sources)
            obstacle = landings if isinstance(landings, Obstacle) else None
        else:
            obstacle = None if isinstance(known, Landing) else Obstacle(0, known)
        self._state.undo(mark)
        self._memory.keep()
        return obstacle

    def answer(self, pod: int) -> SchedulingDecision | None:
        """The scheduler's decision about the replacement of a pod; None if there is none, or if that cannot be known.

        The state is left as it is when the replacement is scheduled: the caller undoes that.
        """
        when = self._quotas.when(pod)
        if when in (ReplacementPolicy.NONE, ReplacementPolicy.NOT_NEEDED) or self._unprovable(pod) is not None:
            return None
        return self._schedule(pod, when)

    def odds(self, decision: SchedulingDecision) -> LandingOdds:
        """The nodes that could win. If the input lacks kinds that change scores, these are all nodes that fit."""
        if self._missing_data.scoring(decision.pod):
            return self._schedulers.odds(decision).as_far_as_known(np.flatnonzero(decision.verdicts.passes))
        return self._schedulers.odds(decision)

    def _held_back(self, suggestions: Sequence[Suggestion]) -> Obstacle | None:
        """Why one of the pods may not be evicted, if they are evicted one after the other; None if all may."""
        several = len(suggestions) > 1
        budgets = self._budgets.copy() if several else self._budgets
        quotas = self._quotas.copy() if several else self._quotas
        for position, each in enumerate(suggestions):
            if each.pod in self._forbidden:
                return Obstacle(position, self._forbidden[each.pod])
            refusal = budgets.refusal(each.pod)
            if refusal is not None:
                return Obstacle(position, (Stage.BUDGET, *refusal))
            if (lacking := quotas.refusal(each.pod)) is not None:
                return Obstacle(position, (Stage.PLACEMENT, RefusalCode.EXCEEDS_QUOTA, lacking))
            if several:
                budgets.count(each.pod)
                quotas.count(each.pod)
        return None

    def _restart(self, suggestions: Sequence[Suggestion]) -> None:
        """Remove the pods of groups that restart: their controller deletes all of them before it creates the first again."""
        pods = [each.pod for each in suggestions]
        self._restarting = frozenset(self._groups.restarting(pods) if self._groups is not None else ())
        if len(self._restarting) > 1:
            for pod in self._restarting:
                self._state.remove(pod)
            self._memory.forget()

    def _land_all(
        self, ref: PluginRef, suggestions: Sequence[Suggestion], sources: Sequence[int]
    ) -> tuple[Landing, ...] | Obstacle:
        """Make all moves in order. If one cannot be made, return why; the caller then restores the state."""
        landings: list[Landing | Reason] = []
        for position, (suggestion, source) in enumerate(zip(suggestions, sources, strict=True)):
            waiting = [each for each in range(position) if not isinstance(landings[each], Landing)]
            known = self._recalled(ref, suggestion, source)
            if known is None or isinstance(known, Landing):
                known = self._land(ref, suggestion, source)
            landings.append(known)
            for each in waiting:
                landings[each] = self._land_late(ref, suggestions[each], sources[each])
            if len(suggestions) > 1:
                # What is known of alike pods holds only until something moves.
                self._memory.forget()
            for each in (*waiting, position):
                landing = landings[each]
                if not isinstance(landing, Landing) and not _may_wait(landing, sources[each], sources[position + 1 :]):
                    return Obstacle(each, landing)
            if not isinstance(landings[position], Landing):
                self._replace(suggestion.pod, ReplacementPolicy.AFTERWARDS)
        made = tuple(each for each in landings if isinstance(each, Landing))
        return self._caveats.together(made) or made

    def _land_late(self, ref: PluginRef, suggestion: Suggestion, source: int) -> Landing | Reason:
        """Where a replacement lands that fitted nowhere until now."""
        decision = self._schedulers.decide(self._replacements.of(suggestion.pod))
        landing = self._unsteered(ref, suggestion, source, decision)
        if not isinstance(landing, Landing):
            return landing
        self._state.place(self._replacements.of(suggestion.pod), landing.target)
        return landing._replace(waits=True)

    def _recalled(self, ref: PluginRef, suggestion: Suggestion, source: int) -> Landing | Reason | None:
        """What an identical pod has already shown of a move; None if none has."""
        known = self._memory.recall(suggestion.pod, source)
        if not isinstance(known, PlacementPrediction):
            return known
        mark = self._state.checkpoint()
        if known.afterwards and self._state.exists[suggestion.pod]:
            self._state.remove(suggestion.pod)
        landing = self._landings.foreseen(ref, suggestion, source, known)
        self._state.undo(mark)
        return landing

    def _one_way(
        self, ref: PluginRef, suggestions: Sequence[Suggestion], sources: Sequence[int], landings: tuple[Landing, ...]
    ) -> tuple[Landing, ...] | Obstacle:
        """Refuse moves of two pods of one workload that only swap their nodes: nothing would be gained."""
        made: dict[tuple[int, int, int, int], int] = {}
        for position, (suggestion, source, landing) in enumerate(zip(suggestions, sources, landings, strict=True)):
            if suggestion.constraint is PlacementConstraint.ANYWHERE:
                continue
            workload = self._workload(suggestion.pod)
            back = (*workload, landing.target, source)
            other = made.get(back, self._made.get(back))
            if other is not None:
                if back not in made:
                    self.move_cycles.append(MoveCycle(other, ref, source))
                message = f"it would only swap nodes with {self._pods.full_name(other)}, of the same workload"
                return Obstacle(position, (Stage.PLACEMENT, RefusalCode.REVERSAL, message))
            made[*workload, source, landing.target] = suggestion.pod
        self._made |= made
        return landings

    def _move_on(self, ref: PluginRef, suggestions: Sequence[Suggestion], sources: Sequence[int]) -> Obstacle:
        """Note replacements that a strategy wants to move again. A plan never moves a pod twice, so refuse the moves."""
        mark = self._state.checkpoint()
        self._restart(suggestions)
        landings = self._land_all(ref, suggestions, sources)
        self._state.undo(mark)
        self._memory.keep()
        moved = [each for each, suggestion in enumerate(suggestions) if self._pods.is_replacement(suggestion.pod)]
        for each in moved:
            pod = suggestions[each].pod
            if not isinstance(landings, Obstacle) or self._comes_with_volumes(pod):
                self.move_cycles.append(MoveCycle(self._pods.original(pod), ref, sources[each]))
        return self._moved_already(suggestions, moved[0])

    def _moved_already(self, suggestions: Sequence[Suggestion], first: int) -> Obstacle:
        """Why replacements stay. If existing pods are among the suggestions, the refusal names the first of these."""
        there = [each for each, suggestion in enumerate(suggestions) if not self._pods.is_replacement(suggestion.pod)]
        if not there:
            return Obstacle(first, (Stage.PLACEMENT, RefusalCode.CYCLE, "this plan has already moved it"))
        name = self._pods.full_name(suggestions[first].pod)
        return Obstacle(there[0], (Stage.PLACEMENT, RefusalCode.CYCLE, f"this plan has moved {name} to the same node"))

    def _land(self, ref: PluginRef, suggestion: Suggestion, source: int) -> Landing | Reason:
        pod = suggestion.pod
        match self._quotas.when(pod):
            case ReplacementPolicy.NONE:
                return Stage.PLACEMENT, RefusalCode.NO_REPLACEMENT, "nothing would recreate this pod"
            case ReplacementPolicy.NOT_NEEDED:
                if self._state.exists[pod]:
                    self._state.remove(pod)
                return Landing(certainty=Certainty.CERTAIN, probability=1.0)
            case when:
                landing = self._prove(ref, suggestion, source, when)
        if isinstance(landing, Landing):
            landing = self._caveats.equipped(pod, landing)
        if isinstance(landing, Landing):
            landing = self._caveats.admitted(pod, landing)
        if isinstance(landing, Landing):
            lacking = (
                "" if self._state.exists[pod] else (self._quotas.lacking_beside(pod) or "no node has room for both")
            )
            landing = self._surges.with_mode(pod, landing, source, lacking=lacking)
        if isinstance(landing, Landing):
            if landing.mode is ReplacementMode.EVICT and (why := self._budgets.refusal_instead(pod)) is not None:
                return Stage.BUDGET, *why
            if self._state.exists[pod]:
                self._state.remove(pod)
            self._state.place(self._replacements.of(pod), landing.target)
        return landing

    def _prove(self, ref: PluginRef, suggestion: Suggestion, source: int, when: ReplacementPolicy) -> Landing | Reason:
        """Where the replacement lands, or why the move is refused."""
        pod = suggestion.pod
        unprovable = self._unprovable(pod)
        if unprovable is not None:
            return unprovable
        self.proofs += 1
        # Of a group that restarts only one pod is evicted, and restow does not see where the others come from.
        if can_be_steered(self._pods, pod, self._steering) and pod not in self._restarting:
            steered = self._steer(ref, suggestion, source, when)
            if steered is not None:
                return steered
        return self._unsteered(ref, suggestion, source, self._schedule(pod, when))

    def _unsteered(
        self, ref: PluginRef, suggestion: Suggestion, source: int, decision: SchedulingDecision
    ) -> Landing | Reason:
        """Where the scheduler puts the replacement, or why that is not good; identical pods need not be scheduled again."""
        if decision.node == PENDING:
            nowhere = no_place(self._state.cluster, decision)
            self._memory.learn(suggestion.pod, source, nowhere)
            return nowhere
        prediction = self._prediction(suggestion.pod, decision, source)
        self._memory.learn(suggestion.pod, source, prediction)
        landing = self._landings.foreseen(ref, suggestion, source, prediction)
        if not isinstance(landing, Landing):
            return landing
        return self._caveats.unsteered(suggestion, source, landing, decision, prediction.odds.nodes)

    def _prediction(self, pod: int, decision: SchedulingDecision, source: int) -> PlacementPrediction:
        """Where the replacement of a pod could land, by the scheduler's decision."""
        odds = self.odds(decision)
        elsewhere = elsewhere_text(decision) if only(odds.nodes, source) else ""
        return PlacementPrediction(odds, decision.best, not self._state.exists[pod], elsewhere)

    def _steer(
        self, ref: PluginRef, suggestion: Suggestion, source: int, when: ReplacementPolicy
    ) -> Landing | Reason | None:
        """The best place for a replacement when it is created; None if it fits nowhere then and would have to wait."""
        self._replace(suggestion.pod, when)
        aligned = self._caveats.keep_aligned(suggestion)
        landing = self._landings.steered(ref, aligned, source)
        if not isinstance(landing, Landing) and aligned is not suggestion:
            landing = self._landings.steered(ref, suggestion, source)
        if not isinstance(landing, Landing):
            return landing
        return self._caveats.aligned(suggestion.pod, landing, np.array([landing.target]))

    def _unprovable(self, pod: int) -> Reason | None:
        """Why it is not known where the replacement of a pod would land; None if it is."""
        pod = self._replacements.like(pod)
        if not self._schedulers.knows(pod):
            name = self._pods.tables.schedulers[self._pods.schedulers[pod]]
            message = f'it uses scheduler "{name}", which restow does not know; add its profile with --scheduler-config'
            return Stage.PLACEMENT, RefusalCode.UNKNOWN_SCHEDULER, message
        unmodelled = self._schedulers.unknown(pod)
        if unmodelled:
            return Stage.PLACEMENT, RefusalCode.UNKNOWN, unmodelled
        unknown = self._missing_data.decisive(pod)
        if unknown:
            return Stage.PLACEMENT, RefusalCode.UNKNOWN, f"its placement depends on {missing_kinds(unknown)}"
        held = self._schedulers.why_never_bound(pod)
        return None if held is None else (Stage.PLACEMENT, RefusalCode.NO_FIT, f"its replacement is not tried: {held}")

    def _schedule(self, pod: int, when: ReplacementPolicy) -> SchedulingDecision:
        """The scheduler's decision about the replacement of a pod, which stays pending in the state.

        Source: Kubernetes 1.36, a terminating pod keeps its place.
        """
        self._replace(pod, when)
        decision = self._schedulers.decide(self._replacements.of(pod))
        if decision.node == PENDING and self._state.exists[pod]:
            self._state.remove(pod)
            decision = self._schedulers.decide(self._replacements.of(pod))
        return decision

    def _replace(self, pod: int, when: ReplacementPolicy) -> None:
        """Change the state to the moment when the replacement of a pod has just been created."""
        if when is ReplacementPolicy.OVERLAPPING and self._state.exists[pod]:
            self._state.terminate(pod)
        elif self._state.exists[pod]:
            self._state.remove(pod)
        self._state.place(self._replacements.of(pod), PENDING)

    def _signature(self, pod: int) -> Hashable:
        """In what a pod differs from others with the same columns, on the state as it is."""
        when, missing = self._quotas.when(pod), self._missing_data.signature(pod)
        group = self._schedulers.group_of(pod)
        return when, missing, group, self._schedulers.signature(pod), self._replacements.signature(pod)

    def _comes_with_volumes(self, pod: int) -> bool:
        """Whether the pod has ephemeral volumes: then it cannot be proven where the replacement of its replacement lands."""
        return any(volume.ephemeral for volume in self._pods.tables.volumes[self._pods.volumes[pod]])

    def _workload(self, pod: int) -> tuple[int, int]:
        return int(self._pods.namespace[pod]), int(self._pods.owners[pod])


#: Refusals of replacements that fit on no node.
_FITS_NOWHERE: Final = frozenset({RefusalCode.NO_FIT, RefusalCode.NEEDS_PREEMPTION})


def _may_wait(reason: Reason, source: int, later: Sequence[int]) -> bool:
    """Whether later moves of the proposal, which leave these nodes, could make room for a replacement that fits nowhere."""
    return reason[1] in _FITS_NOWHERE and any(node != source for node in later)
