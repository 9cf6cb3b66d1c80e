"""The cluster as a plan leaves it, on which the strategies run once more: for one pod, or to sort the nodes.

The strategies run as in any plan, with the same arbiter, but with evictors that let the pod pass, without limits, and
with a placement that makes no move and only examines the pod. So every stage can be asked, also those after the first
that would refuse the pod. ``Classes`` says how strategies sort the nodes, and why they do not want to move a pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from restow.cluster.budgets import CoveringBudgets
from restow.cluster.interning import BoolArray
from restow.cluster.nodes import Nodes
from restow.cluster.pod_values import Phase
from restow.cluster.pods import PENDING
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.descheduling.arbiter import Arbiter, Eviction, RefusedSuggestion
from restow.descheduling.cycle import Cycle, StrategyRunner
from restow.descheduling.framework import NodeClass, Reason, Strategy, StrategyError, Suggestion, View
from restow.descheduling.limits import Limits
from restow.descheduling.placement import NOT_NOW, EvictOnly, Landing, Obstacle, PluginRef, accepted
from restow.descheduling.vetoes import Vetoes
from restow.policies.codes import Placement, SteeringMode
from restow.policies.policy import Policy
from restow.proving.disruption_budgets import DisruptionBudgets
from restow.proving.proof import Prover
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.verdicts import PluginRejection
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.loop.missing_data import MissingData
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.sampling.landing_odds import LandingOdds
from restow.workloads.replacements import Replacements


@dataclass(slots=True, frozen=True)
class Setting:
    """A plan, and what it was made with."""

    cycle: Cycle
    #: The cluster as it was observed.
    observed: ClusterSnapshot
    #: The policy as its placement uses it (``proving.planning``).
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
        limits = Limits.of(self.policy)
        refs = [ref for ref, _, _ in self.runner.refs()]
        for each in self.moves:
            position = refs.index(each.ref) if each.ref in refs else len(refs)
            limits.count(self.state, each.pod, each.node, position)
        return limits

    def budgets(self) -> DisruptionBudgets:
        """The disruption budgets, with what the plan has used of them."""
        budgets = DisruptionBudgets.of(
            self.state.cluster, CoveringBudgets(self.state.cluster, self.runner.labels), self.policy.restow
        )
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
        return Obstacle(0, NOT_NOW)


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
        prover = Prover(what_if.runner, what_if.replacements, schedulers, budgets, what_if.missing_data, forbidden={})
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


class Classes:
    """The classes in which strategies sort the nodes; none for strategies that do not or cannot sort them."""

    def __init__(self, what_if: WhatIf) -> None:
        self._what_if = what_if
        self._views: dict[PluginRef, tuple[View, Any]] = {}
        self._known: dict[PluginRef, Mapping[int, NodeClass]] = {}
        arbiter = Arbiter(what_if.state, Limits(), EvictOnly(what_if.state))
        for ref, profile, evictor in what_if.runner.refs():
            self._views[ref] = what_if.runner.view(arbiter, ref, evictor), profile.args[ref.plugin]

    def sorts(self, ref: PluginRef) -> bool:
        """Whether a strategy sorts nodes."""
        return self._what_if.setting.strategies[ref.plugin].sort_nodes is not None

    def of(self, ref: PluginRef) -> Mapping[int, NodeClass]:
        """The class of each node that the strategy sees."""
        if ref not in self._known:
            self._known[ref] = self._sorted(ref)
        return self._known[ref]

    def _sorted(self, ref: PluginRef) -> Mapping[int, NodeClass]:
        sort = self._what_if.setting.strategies[ref.plugin].sort_nodes
        if sort is None:
            return {}
        try:
            return sort(*self._views[ref])
        except StrategyError:
            return {}

    def why_not(self, ref: PluginRef, pod: int, responses: Responses) -> str:
        """Why a strategy does not want a pod to move; empty if finding out would take long."""
        view, args = self._views[ref]
        return (
            _unseen(self._what_if, pod)
            or _not_chosen(view, args, pod)
            or self._not_giving(ref, pod)
            or responses.remarks.get(ref, "")
        )

    def _not_giving(self, ref: PluginRef, pod: int) -> str:
        node = int(self._what_if.state.node[pod])
        found = self.of(ref).get(node)
        return "" if found is None or found.gives else class_text(self._what_if.state.cluster.nodes, node, found)


def class_text(nodes: Nodes, node: int, found: NodeClass) -> str:
    """A node's class with its figures, for people."""
    figures = ", ".join(f"{name} {load:.0f} %" for name, load in sorted(found.load.items()))
    bounds = [
        f"{word} {_bounds(limits)}" for word, limits in (("threshold", found.low), ("target", found.high)) if limits
    ]
    measured = f" ({found.origin})" if found.origin else ""
    return f"{nodes.names[node]} is at {figures}{measured}; {', '.join(bounds)}"


def _bounds(limits: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {limit:.0f} %" for name, limit in sorted(limits.items()))


def unseen_node(what_if: WhatIf, node: int) -> str:
    """Why strategies do not process a node; empty if they do."""
    nodes = what_if.state.cluster.nodes
    if node in what_if.runner.nodes:
        return ""
    if not nodes.ready[node]:
        return f"{nodes.names[node]} is not ready"
    return f"the policy's nodeSelector excludes {nodes.names[node]}"


def _unseen(what_if: WhatIf, pod: int) -> str:
    node = int(what_if.state.node[pod])
    if node < 0:
        return "it has no node" if node == PENDING else "it is on a node that is missing from the input"
    return unseen_node(what_if, node)


def _not_chosen(view: View, args: Any, pod: int) -> str:
    """Whether the strategy's own arguments exclude the pod."""
    if not _chosen(view, pod, getattr(args, "namespaces", None), None):
        return "the strategy's namespaces exclude its namespace"
    if not _chosen(view, pod, getattr(args, "evictable_namespaces", None), None):
        return "the strategy's evictableNamespaces exclude its namespace"
    if not _chosen(view, pod, None, getattr(args, "label_selector", None)):
        return "the strategy's labelSelector does not match its labels"
    if view.pods.phase[pod] == Phase.SUCCEEDED:
        return "it has succeeded"
    return ""


def _chosen(view: View, pod: int, namespaces: Any, selector: Any) -> bool:
    if namespaces is None and selector is None:
        return True
    return bool(np.asarray(view.chosen(namespaces, selector))[pod])
