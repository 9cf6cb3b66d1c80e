"""A plan that proves its moves: rounds until nobody wants to move anything more, without circles.

One hearing of all strategies is a *round*. What a round moves may give others a reason to move, so rounds follow one
another until one moves nothing: a *pass*. A strategy that would then move a replacement on - its own strategy or
another - closes a circle: the first move is forbidden, the pass is taken back and decided anew. A new plan would know
nothing of what was forbidden, so another pass begins with a clean slate, until one moves nothing at all; what it would
move on of an earlier pass is forbidden for good, and everything begins again.

Limits and budgets hold for the plan as a whole. Where they ended it, passes without any look ahead for the circles that
later plans would close.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from msgspec import structs

from restow.cluster.replacements import Replacements
from restow.cluster.snapshot import Cluster
from restow.cluster.state import ClusterState
from restow.descheduling.arbiter import Arbiter, Record
from restow.descheduling.cycle import Cycle, Fence, StrategyRunner
from restow.descheduling.disruption_budgets import DisruptionBudgets
from restow.descheduling.evictor import Reason
from restow.descheduling.fencing import fenced_nodes
from restow.descheduling.framework import Strategy
from restow.descheduling.landings import circular
from restow.descheduling.limits import Limits, PriorEviction
from restow.descheduling.placement import excluded_pods
from restow.descheduling.proof import MoveCycle, Prover
from restow.descheduling.steering import FENCE_EFFECTS
from restow.policies.codes import Placement, Stage, SteeringMode
from restow.policies.policy import Policy
from restow.policies.schema import DEFAULT_EVICTOR
from restow.scheduling.context import Context
from restow.scheduling.missing_data import MissingData
from restow.scheduling.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.scheduling.schedulers import Schedulers

#: Beginnings after which no clean slate is tried any more; random clusters need three at most.
_PATIENCE = 12
#: Stages that a later plan may find open again.
_FOR_NOW = (Stage.LIMIT, Stage.BUDGET)

#: Why pods must stay, most of them because they would go round in circles.
_Forbidden = dict[int, Reason]


@dataclass(slots=True, frozen=True)
class _Allowance:
    """What a plan may still do; evictions are counted in it."""

    limits: Limits
    budgets: DisruptionBudgets

    def copy(self) -> _Allowance:
        """The same, counting on its own."""
        return _Allowance(self.limits.copy(), self.budgets.copy())


@dataclass(slots=True, frozen=True)
class _Pass:
    """What a pass decided."""

    record: Record
    left: _Allowance
    #: Circles that it closes with moves of earlier passes; then it counts for nothing.
    move_cycles: tuple[MoveCycle, ...]
    #: Whether it forbade anything of its own, so that a clean slate may find more.
    forbade: bool = False


def prove_cycle(
    cluster: Cluster,
    policy: Policy,
    strategies: Mapping[str, Strategy],
    now: int,
    profiles: Iterable[SchedulerProfile] = (DEFAULT_PROFILE,),
    *,
    steering: SteeringMode = SteeringMode.NONE,
    prior_evictions: Iterable[PriorEviction] = (),
    excluded: Mapping[str, Reason] = MappingProxyType({}),
) -> Cycle:
    """Decide for one cluster at one time (nanoseconds since the epoch), each move proven.

    ``profiles`` are those of the cluster's schedulers, ``steering`` is how replacements can be brought to their targets;
    ``prior_evictions``, ``excluded`` and errors as for ``run_cycle``.
    """
    state = ClusterState(cluster)
    policy = without_node_fit(policy)
    runner = StrategyRunner.of(state, policy, strategies, now, placement=Placement.PROVE, steering=steering)
    fence = _fence(runner, policy, steering)
    if fence is not None:
        state = ClusterState(replace(state.cluster, nodes=state.cluster.nodes.fenced(*fence)))
        runner = StrategyRunner.of(state, policy, strategies, now, placement=Placement.PROVE, steering=steering)
    proof = _Proof(
        state,
        Replacements(state, now),
        runner,
        policy,
        profiles,
        steering=steering,
        prior_evictions=prior_evictions,
        excluded=excluded,
    )
    return replace(proof.cycle(), fence=fence)


def _fence(runner: StrategyRunner, policy: Policy, steering: SteeringMode) -> Fence | None:
    """What is fenced while the plan is carried out; None where nothing is."""
    if steering not in FENCE_EFFECTS:
        return None
    nodes = fenced_nodes(runner, policy.restow.fence_share)
    return Fence(nodes, FENCE_EFFECTS[steering]) if len(nodes) else None


def without_node_fit(policy: Policy) -> Policy:
    """The policy without nodeFit: the scheduler itself is asked, about every rule and about all moves together."""
    return structs.replace(
        policy,
        profiles=tuple(
            structs.replace(
                profile,
                args=profile.args | {DEFAULT_EVICTOR: structs.replace(profile.args[DEFAULT_EVICTOR], node_fit=False)},
            )
            for profile in policy.profiles
        ),
    )


class _Proof:
    """The search for a plan on one state."""

    def __init__(
        self,
        state: ClusterState,
        replacements: Replacements,
        runner: StrategyRunner,
        policy: Policy,
        profiles: Iterable[SchedulerProfile],
        *,
        steering: SteeringMode,
        prior_evictions: Iterable[PriorEviction],
        excluded: Mapping[str, Reason],
    ) -> None:
        self._state = state
        self._replacements = replacements
        self._runner = runner
        self._policy = policy
        self._schedulers = Schedulers(Context.of(state), profiles)
        self._missing_data = MissingData(state.cluster)
        self._steering = steering
        self._excluded = excluded_pods(state.cluster, excluded)
        #: Of the whole plan, nothing of it used.
        self._allowance = _Allowance(runner.limits(prior_evictions), DisruptionBudgets.of(state.cluster, runner.labels))

    def cycle(self) -> Cycle:
        """What was decided, and the state it left."""
        record = self._found()
        return Cycle(record, self._state, self._runner.nodes, self._runner.missing() | self._missing_data.missed)

    def _found(self) -> Record:
        """Begin anew until no move closes a circle, not even with the plans that would follow."""
        forbidden: _Forbidden = {}
        for _ in range(_PATIENCE):
            self._state.undo(0)
            plan = self._passes(self._allowance, forbidden)
            move_cycles = plan.move_cycles or self._closed_later(plan.record)
            if not move_cycles:
                return plan.record
            more = self._reasons(move_cycles)
            if more.keys() <= forbidden.keys():
                break
            forbidden |= more
        # Clean slates find the same circles over and over: what was forbidden stays forbidden then. The next plan may
        # move others, but none of these again.
        self._state.undo(0)
        return self._pass(self._allowance, forbidden, ()).record

    def _closed_later(self, plan: Record) -> tuple[MoveCycle, ...]:
        """Circles that later plans would close with the moves of this one; the state stays as it is."""
        if not plan.evictions or not any(each.reason[0] in _FOR_NOW for each in plan.refusals):
            return ()
        moved = {each.pod for each in plan.evictions}
        mark = self._state.checkpoint()
        later = self._passes(_Allowance(Limits(), DisruptionBudgets.none(self._state.cluster)), {}, moved)
        self._state.undo(mark)
        return tuple(circle for circle in later.move_cycles if circle.pod in moved)

    def _passes(self, allowance: _Allowance, forbidden: _Forbidden, moved: Collection[int] = ()) -> _Pass:
        """Passes until one moves nothing, after others that have moved some pods; or the circles that end them."""
        plan = self._pass(allowance, forbidden, set(moved))
        last = plan
        while not last.move_cycles and last.record.evictions and (last.forbade or forbidden):
            gone = {*moved, *(each.pod for each in plan.record.evictions)}
            last = self._pass(last.left, {}, gone)
            plan = replace(last, record=_joined(plan.record, last.record))
        return plan

    def _pass(self, allowance: _Allowance, forbidden: _Forbidden, moved: Collection[int]) -> _Pass:
        """Rounds until one moves nothing."""
        own: _Forbidden = {}
        mark = self._state.checkpoint()
        while True:
            left = allowance.copy()
            prover = self._prover(left.budgets, forbidden | own)
            record = self._rounds(prover, left.limits)
            earlier = tuple(circle for circle in prover.move_cycles if circle.pod in moved)
            if earlier or not prover.move_cycles:
                return _Pass(record, left, earlier, bool(own))
            own |= self._reasons(prover.move_cycles)
            self._state.undo(mark)

    def _rounds(self, prover: Prover, limits: Limits) -> Record:
        record = self._round(prover, limits)
        moves = len(record.evictions)
        while moves and not prover.move_cycles:
            after = self._round(prover, limits)
            moves = len(after.evictions)
            record = _joined(record, after)
        return record

    def _round(self, prover: Prover, limits: Limits) -> Record:
        arbiter = Arbiter(self._state, limits, prover)
        prover.watch(self._runner.watchers(arbiter))
        self._runner.run(arbiter)
        return arbiter.record()

    def _prover(self, budgets: DisruptionBudgets, forbidden: _Forbidden) -> Prover:
        return Prover(
            self._state,
            self._replacements,
            self._schedulers,
            budgets,
            self._missing_data,
            certainty=self._policy.restow.certainty,
            steering=self._steering,
            forbidden=self._excluded | forbidden,
        )

    def _reasons(self, move_cycles: Iterable[MoveCycle]) -> _Forbidden:
        nodes = self._state.cluster.nodes.names
        return {circle.pod: circular(nodes[circle.node], circle.ref) for circle in move_cycles}


def _joined(first: Record, second: Record) -> Record:
    """Both rounds; a pod that moved was not refused, and of two refusals the second tells why the pod stays after all."""
    moved = {each.pod for each in second.evictions}
    refusals = {each.key: each.without(moved) for each in (*first.refusals, *second.refusals) if each.pod not in moved}
    return Record(
        evictions=(*first.evictions, *second.evictions),
        refusals=tuple(refusals.values()),
        problems=first.problems,
        notes=first.notes,
        seconds={
            ref: first.seconds.get(ref, 0.0) + second.seconds.get(ref, 0.0) for ref in (*first.seconds, *second.seconds)
        },
    )
