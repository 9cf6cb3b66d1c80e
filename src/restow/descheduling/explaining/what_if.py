"""The cluster as a plan leaves it, on which the strategies run once more for one pod.

The strategies run as in any plan, with the same arbiter, but with evictors that let the pod pass, without limits, and
with a placement that makes no move and only examines the pod. So every stage can be asked, also those after the first
that would refuse the pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray
from restow.cluster.pods import PENDING
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.descheduling.arbiter import Arbiter, Eviction, RefusedSuggestion
from restow.descheduling.cycle import Cycle, StrategyRunner, limits_of
from restow.descheduling.disruption_budgets import DisruptionBudgets
from restow.descheduling.evictor import Reason
from restow.descheduling.framework import Strategy, Suggestion
from restow.descheduling.landings import accepted
from restow.descheduling.limits import Limits
from restow.descheduling.placement import Landing, Obstacle, PluginRef
from restow.descheduling.proof import Prover
from restow.descheduling.vetoes import Vetoes
from restow.policies.codes import Placement, RefusalCode, Stage, SteeringMode
from restow.policies.policy import Policy
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.verdicts import PluginRejection
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.loop.missing_data import MissingData
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.sampling.landing_odds import LandingOdds
from restow.workloads.replacements import Replacements

#: The refusal that strategies get while their suggestions are only collected.
_NOT_NOW: Reason = (Stage.PLACEMENT, RefusalCode.NO_GAIN, "nothing is moved here")


@dataclass(slots=True, frozen=True)
class Setting:
    """A plan, and what it was made with."""

    cycle: Cycle
    #: The cluster as it was observed.
    observed: ClusterSnapshot
    #: The policy as its placement uses it (``descheduling.planning``).
    policy: Policy
    strategies: Mapping[str, Strategy]
    now: int
    placement: Placement
    steering: SteeringMode
    profiles: tuple[SchedulerProfile, ...]

    @property
    def cluster(self) -> ClusterSnapshot:
        """The cluster of the plan: with replacements, where moves were proven."""
        return self.cycle.state.cluster

    def move_of(self, pod: int) -> Eviction | None:
        """The move of a pod in the plan."""
        return next((each for each in self.cycle.record.evictions if each.pod == pod), None)

    def reason_of(self, refused: RefusedSuggestion, pod: int) -> Reason | None:
        """Why a refusal keeps a pod, itself or with another pod of its proposal; None if the refusal is not about it."""
        if refused.pod == pod:
            return refused.reason
        if pod not in refused.others:
            return None
        stage, code, message = refused.reason
        return stage, code, f"{self.cluster.pods.full_name(refused.pod)} cannot go: {message}"


@dataclass(slots=True, frozen=True)
class ReplacementAnswer:
    """What the scheduler says about a pod's replacement, and the strategy about the nodes; nodes by index."""

    landing: Landing | Reason
    #: None if nothing would replace the pod, or if its scheduler is not known.
    decision: SchedulingDecision | None
    #: The nodes that could win, with their probabilities.
    odds: LandingOdds
    #: Which nodes the strategy accepts as landing places, bool[node].
    accepts: BoolArray
    #: Every plugin that rejects a node, by node.
    rejections_by_node: Sequence[tuple[PluginRejection, ...]]
    #: What is requested, int64[resource, node], and how many pods run, int64[node], when the replacement comes.
    requested: npt.NDArray[np.int64]
    running: npt.NDArray[np.int64]


@dataclass(slots=True, frozen=True)
class Response:
    """A strategy that wants to move the pod; ``answer`` is None if landing places are not predicted."""

    ref: PluginRef
    suggestion: Suggestion
    source: int
    answer: ReplacementAnswer | None

    @property
    def pod(self) -> int:
        """Which pod."""
        return self.suggestion.pod


@dataclass(slots=True, frozen=True)
class Responses:
    """What all strategies responded."""

    suggested: Mapping[PluginRef, Response]
    #: Remarks of strategies: why they found nothing to do, or could not work.
    remarks: Mapping[PluginRef, str]


class WhatIf:
    """One state on which strategies run without changing it."""

    def __init__(self, setting: Setting, moves: Iterable[Eviction]) -> None:
        self.setting = setting
        self.policy = setting.policy
        self.moves = tuple(moves)
        self.state = ClusterState(setting.cluster)
        self.replacements = Replacements(self.state, setting.now)
        self._replay(self.moves)
        proves = setting.placement == Placement.PROVE
        steering = setting.steering if proves else SteeringMode.NONE
        self.runner = StrategyRunner.of(
            self.state, self.policy, setting.strategies, setting.now, placement=setting.placement, steering=steering
        )
        self.missing_data = MissingData(self.state.cluster)
        self._proof = _Proof.on(self) if proves else None

    def _replay(self, moves: Iterable[Eviction]) -> None:
        for move in moves:
            self.state.remove(move.pod)
            if move.landing.target != PENDING:
                self.state.place(self.replacements.of(move.pod), move.landing.target)

    def limits(self) -> Limits:
        """The limits of the policy, with what the plan has used of them."""
        limits = limits_of(self.policy)
        refs = [ref for ref, _, _ in self.runner.refs()]
        for each in self.moves:
            position = refs.index(each.ref) if each.ref in refs else len(refs)
            limits.count(self.state, each.pod, each.node, position)
        return limits

    def budgets(self) -> DisruptionBudgets:
        """The disruption budgets, with what the plan has used of them."""
        budgets = DisruptionBudgets.of(self.state.cluster, self.runner.labels)
        for each in self.moves:
            budgets.count(each.pod)
        return budgets

    def ask(self, pod: int) -> Responses:
        """Run all strategies and return what they want of one pod."""
        listener = _Listener(self.state, pod, self._proof)
        arbiter = Arbiter(self.state, Limits(), listener)
        self.runner.bypassing(pod).run(arbiter)
        record = arbiter.record()
        return Responses(listener.suggested, {**dict(record.notes), **dict(record.problems)})


@dataclass(slots=True)
class _Listener:
    """A placement that makes no move and remembers what was suggested for one pod."""

    _state: ClusterState
    _pod: int
    _proof: _Proof | None
    suggested: dict[PluginRef, Response] = field(default_factory=dict)

    def move(self, ref: PluginRef, suggestions: Sequence[Suggestion]) -> tuple[Landing, ...] | Obstacle:
        """Examine what is suggested for the pod, and refuse every move."""
        for suggestion in suggestions:
            if suggestion.pod == self._pod and ref not in self.suggested:
                source = int(self._state.node[self._pod])
                answer = self._proof.answer(ref, suggestion) if self._proof else None
                self.suggested[ref] = Response(ref, suggestion, source, answer)
        return Obstacle(0, _NOT_NOW)


@dataclass(slots=True, frozen=True)
class _Proof:
    """Asks the prover as a plan does, and keeps what the prover looks at."""

    _state: ClusterState
    _schedulers: Schedulers
    _prover: Prover
    _vetoes: Vetoes

    @staticmethod
    def on(what_if: WhatIf) -> _Proof:
        state = what_if.state
        schedulers = Schedulers(Context.of(state), what_if.setting.profiles)
        budgets = DisruptionBudgets.none(state.cluster)
        prover = Prover(
            state,
            what_if.replacements,
            schedulers,
            budgets,
            what_if.missing_data,
            certainty=what_if.policy.restow.certainty,
            steering=what_if.setting.steering,
            forbidden={},
            vetoes=what_if.runner.vetoes,
        )
        return _Proof(state, schedulers, prover, what_if.runner.vetoes)

    def answer(self, ref: PluginRef, suggestion: Suggestion) -> ReplacementAnswer:
        """What the prover would decide about a suggestion; the state stays as it is."""
        mark, source = self._state.checkpoint(), int(self._state.node[suggestion.pod])
        made = self._prover.move(ref, (suggestion,))
        landing = made.reason if isinstance(made, Obstacle) else made[0]
        self._state.undo(mark)
        decision = self._prover.answer(suggestion.pod)
        answer = self._answer(landing, decision, suggestion, source)
        self._state.undo(mark)
        return answer

    def _answer(
        self, landing: Landing | Reason, decision: SchedulingDecision | None, suggestion: Suggestion, source: int
    ) -> ReplacementAnswer:
        """Everything that must be read while the replacement is in the state."""
        everywhere = np.arange(len(self._state.cluster.nodes))
        rejections_by_node: Sequence[tuple[PluginRejection, ...]] = [()] * len(everywhere)
        odds = LandingOdds.equal(everywhere[:0])
        if decision is not None:
            rejections_by_node = self._schedulers.scheduler_of(decision.pod).rejections_by_node(decision.pod)
            odds = self._prover.odds(decision)
        if isinstance(landing, Landing) and landing.steering is not None:
            odds = LandingOdds.equal(np.array([landing.target]))
        return ReplacementAnswer(
            landing=landing,
            decision=decision,
            odds=odds,
            accepts=accepted(suggestion, source, everywhere, self._vetoes),
            rejections_by_node=rejections_by_node,
            requested=self._state.requested.copy(),
            running=self._state.running.copy(),
        )
