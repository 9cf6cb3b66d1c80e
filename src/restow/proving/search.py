"""The search for a proven plan: rounds of all strategies until none wants to move anything more, without useless moves.

In a *round* every strategy runs once. What a round moves may give strategies a reason to move more, so rounds are
repeated until one moves nothing: a *pass*. If a strategy then wants to move a replacement again, the first move of that
pod was useless (a *cycle*): that move is forbidden, the pass is undone and decided again. The next plan would not know
what this one has forbidden. So another pass follows in which nothing is forbidden, and so on until a pass moves nothing
at all. If such a pass wants to move a replacement of an earlier pass, the earlier move is forbidden for good, and the
plan starts over.

Limits and budgets hold for the plan as a whole. If they ended it, further passes without them look for moves that later
plans would reverse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from msgspec import Struct, structs

from restow.cluster.pods import NO_POD
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.descheduling.arbiter import Arbiter, Record, RefusedSuggestion, Searches
from restow.descheduling.aside import NONE_ASIDE, PodsAside
from restow.descheduling.cycle import Cycle, Fence, StrategyRunner
from restow.descheduling.framework import Reason, Strategy
from restow.descheduling.limits import Limits, PriorEviction
from restow.descheduling.placement import excluded_pods
from restow.descheduling.plan import FENCE_EFFECTS, GoalResult
from restow.policies.codes import Placement, Stage, SteeringMode
from restow.policies.policy import Policy
from restow.policies.schema import DEFAULT_EVICTOR
from restow.proving.disruption_budgets import DisruptionBudgets
from restow.proving.landings import circular
from restow.proving.planning_cache import PlanningCache
from restow.proving.proof import MoveCycle, Prover
from restow.proving.steering import FOR_STEERING, fenced_nodes
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.workloads.replacements import Replacements

#: How often the plan starts over before forbidden moves stay forbidden in all passes; random clusters need three at most.
_PATIENCE = 12
#: Stages that a later plan may find open again.
_FOR_NOW = (Stage.LIMIT, Stage.BUDGET)

#: At the end, this many moves that limits refused are proven, or one for each this many proofs of the plan.
_LEAST_ASKED = 32
_ASKED_SHARE = 30

#: Why pods must stay: most of them because their moves would be useless.
_Forbidden = dict[int, Reason]


class _Allowance(Struct, frozen=True):
    """The limits and budgets of a plan, in which its evictions count."""

    limits: Limits
    budgets: DisruptionBudgets

    def copy(self) -> _Allowance:
        """A copy that counts further evictions separately."""
        return _Allowance(self.limits.copy(), self.budgets.copy())


class _Pass(Struct, frozen=True):
    """The result of a pass."""

    record: Record
    left: _Allowance
    #: Moves of earlier passes that this one would make useless; if there are any, the pass itself is not used.
    move_cycles: tuple[MoveCycle, ...]
    #: Whether it forbade moves itself, so that another pass without these may move more.
    forbade: bool = False


def prove_cycle(
    cluster: ClusterSnapshot,
    policy: Policy,
    strategies: Mapping[str, Strategy],
    now: int,
    profiles: Iterable[SchedulerProfile] = (DEFAULT_PROFILE,),
    *,
    steering: SteeringMode = SteeringMode.NONE,
    prior_evictions: Iterable[PriorEviction] = (),
    excluded: Mapping[str, Reason] = MappingProxyType({}),
    may_move: Collection[str] | None = None,
    searches: Searches = MappingProxyType({}),
    cache: PlanningCache | None = None,
) -> Cycle:
    """Decide for one cluster at one time (nanoseconds since the epoch), each move proven.

    ``profiles`` are those of the cluster's schedulers, ``steering`` is how replacements can be brought to their targets;
    ``prior_evictions``, ``excluded`` and errors as for ``run_cycle``. ``may_move`` are the only pods (uids) that this plan
    decides about, None: all. ``searches`` are those of the plan before, where
    strategies go on (``Record.searches``). ``cache`` is what earlier plans on that cluster have left, None: nothing.
    """
    cache = cache or PlanningCache.of(ClusterState(cluster), profiles)
    policy = without_node_fit(policy)
    runner_of = partial(
        _runner_on,
        policy=policy,
        strategies=strategies,
        now=now,
        placement=Placement.PROVE,
        steering=steering,
        searches=searches,
    )
    runner = runner_of(cache)
    chosen = fenced_nodes(runner, policy.restow.fence_share) if steering in FENCE_EFFECTS else None
    fence = None
    if chosen is not None and len(chosen.nodes):
        fence = Fence(chosen.nodes, FENCE_EFFECTS[steering])
        cache = PlanningCache.of(ClusterState(replace(cluster, nodes=cluster.nodes.fenced(*fence))), profiles)
        runner = runner_of(cache)
    used = cache.state.cluster.pods.used
    aside = NONE_ASIDE if may_move is None else PodsAside.but(cache.uids().rows(may_move), used)
    replacements = Replacements(cache.state, now, cache.next_pods())
    cycle = _Proof(runner, cache, replacements, prior_evictions, excluded=excluded, aside=aside).cycle()
    shortage = None if chosen is None else chosen.shortage()
    record = cycle.record if shortage is None else _with_shortage(cycle.record, shortage)
    return structs.replace(cycle, record=record, fence=fence)


def _runner_on(cache: PlanningCache, policy: Policy, **asked: Any) -> StrategyRunner:
    groups = None if policy.restow.groups == "alone" else cache.groups(policy.restow.group_label)
    return StrategyRunner.of(cache.state, policy, labels=cache.labels, groups=groups, kept=cache.kept, **asked)


def _with_shortage(record: Record, shortage: str) -> Record:
    """The record with a note for each strategy whose moves were all refused for where they would land."""
    moving = {each.ref for each in record.evictions}
    idle = dict.fromkeys(each.ref for each in record.refusals if each.reason[1] in FOR_STEERING)
    return replace(record, notes=(*record.notes, *((ref, shortage) for ref in idle if ref not in moving)))


def without_node_fit(policy: Policy) -> Policy:
    """The policy without nodeFit: a proof applies all of the scheduler's rules, and to all moves together."""
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
        runner: StrategyRunner,
        cache: PlanningCache,
        replacements: Replacements,
        prior_evictions: Iterable[PriorEviction],
        *,
        excluded: Mapping[str, Reason],
        aside: PodsAside,
    ) -> None:
        self._runner = runner
        self._state = state = runner.state
        self._replacements = replacements
        self._schedulers = cache.schedulers()
        self._missing_data = cache.missing_data()
        self._excluded = excluded_pods(state.cluster.pods, cache.uids(), excluded) if excluded else {}
        self._aside = aside
        #: How many replacements the search has scheduled.
        self._proofs = 0
        #: Limits and budgets of the whole plan, unused.
        self._covering = cache.covering()
        budgets = DisruptionBudgets.of(state.cluster, self._covering, runner.policy.restow)
        self._allowance = _Allowance(runner.limits(prior_evictions), budgets)

    def cycle(self) -> Cycle:
        """The plan, and the state it leaves."""
        record = self._with_obstacles_beyond_limits(self._found())
        return structs.replace(self._runner.cycle(record, self._missing_data.missed), covering=self._covering)

    def _with_obstacles_beyond_limits(self, record: Record) -> Record:
        """The record with what else stands in the way of moves that limits refuse, on the state that the plan leaves.

        Asked once, at the end: while a plan is searched, the same moves are refused in every round. Pods that are alike
        cost one proof, and all of them together a small share of those that the plan took.
        """
        if not record.limited:
            return record
        budgets = self._allowance.budgets.copy()
        for each in record.evictions:
            budgets.count(each.pod)
        prover = self._prover(budgets, {})
        prover.watch(self._runner.watchers(Arbiter(self._state, Limits(), prover)))
        return replace(record, refusals=tuple(self._beyond_limit(each, record, prover) for each in record.refusals))

    def _beyond_limit(self, refused: RefusedSuggestion, record: Record, prover: Prover) -> RefusedSuggestion:
        suggestions = record.limited.get(refused.key, ())
        pods = [each.pod for each in suggestions]
        exist = all(self._state.exists[pod] and self._state.cluster.pods.replaces[pod] == NO_POD for pod in pods)
        if refused.reason[0] is not Stage.LIMIT or not suggestions or not exist:
            return refused
        if prover.proofs >= max(_LEAST_ASKED, self._proofs // _ASKED_SHARE):
            return refused
        obstacle = prover.obstacle(refused.ref, suggestions)
        return refused if obstacle is None else refused._replace(beyond_limit=obstacle.reason)

    def _found(self) -> Record:
        """Search again with more moves forbidden until none is useless, not even in view of the plans that would follow."""
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
        # Passes that forbid nothing find the same useless moves over and over, so make one in which all that was forbidden
        # stays forbidden. The next plan may move other pods, but none of these again.
        self._state.undo(0)
        return self._pass(self._allowance, forbidden, ()).record

    def _closed_later(self, plan: Record) -> tuple[MoveCycle, ...]:
        """The moves of this plan that later plans would make useless; the state stays as it is."""
        if not plan.evictions or not any(each.reason[0] in _FOR_NOW for each in plan.refusals):
            return ()
        moved = {each.pod for each in plan.evictions}
        mark = self._state.checkpoint()
        later = self._passes(_Allowance(Limits(), DisruptionBudgets.none(self._state.cluster)), {}, moved)
        self._state.undo(mark)
        return tuple(each for each in later.move_cycles if each.pod in moved)

    def _passes(self, allowance: _Allowance, forbidden: _Forbidden, moved: Collection[int] = ()) -> _Pass:
        """Make passes until one moves nothing; or return the useless moves of earlier passes that one finds."""
        plan = self._pass(allowance, forbidden, set(moved))
        last = plan
        while not last.move_cycles and last.record.evictions and (last.forbade or forbidden):
            gone = {*moved, *(each.pod for each in plan.record.evictions)}
            last = self._pass(last.left, {}, gone)
            plan = structs.replace(last, record=_joined(plan.record, last.record))
        return plan

    def _pass(self, allowance: _Allowance, forbidden: _Forbidden, moved: Collection[int]) -> _Pass:
        """Make rounds until one moves nothing."""
        own: _Forbidden = {}
        mark = self._state.checkpoint()
        while True:
            left = allowance.copy()
            prover = self._prover(left.budgets, forbidden | own)
            record = self._rounds(prover, left.limits)
            earlier = tuple(each for each in prover.move_cycles if each.pod in moved)
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
        arbiter = Arbiter(self._state, limits, prover, self._runner.moving_groups, self._aside)
        prover.watch(self._runner.watchers(arbiter))
        before = prover.proofs
        self._runner.run(arbiter)
        self._proofs += prover.proofs - before
        return arbiter.record()

    def _prover(self, budgets: DisruptionBudgets, forbidden: _Forbidden) -> Prover:
        return Prover(
            self._runner,
            self._replacements,
            self._schedulers,
            budgets,
            self._missing_data,
            forbidden=self._excluded | forbidden,
            groups=self._runner.moving_groups,
        )

    def _reasons(self, move_cycles: Iterable[MoveCycle]) -> _Forbidden:
        nodes = self._state.cluster.nodes.names
        return {each.pod: circular(nodes[each.node], each.ref) for each in move_cycles}


def _later(first: GoalResult | None, second: GoalResult) -> GoalResult:
    """The results of two rounds as one: what was before the first, and what is after the second."""
    if first is None:
        return second
    fewest = first.fewest_moves and second.fewest_moves and second.after == second.before
    emptied = (*first.emptied, *second.emptied)
    return structs.replace(first, fewest_moves=fewest, emptied=emptied).ending_at(second.after)


def _joined(first: Record, second: Record) -> Record:
    """The records of two rounds as one. A later move or refusal of a pod replaces its earlier refusal."""
    moved = {each.pod for each in second.evictions}
    refusals = {each.key: each.without(moved) for each in (*first.refusals, *second.refusals) if each.pod not in moved}
    return Record(
        evictions=(*first.evictions, *second.evictions),
        refusals=tuple(refusals.values()),
        problems=first.problems,
        notes=first.notes,
        limited={**first.limited, **second.limited},
        goals={key: _later(first.goals.get(key), result) for key, result in second.goals.items()},
        searches={ref: each.after(first.searches.get(ref)) for ref, each in second.searches.items()},
        seconds={
            ref: first.seconds.get(ref, 0.0) + second.seconds.get(ref, 0.0) for ref in (*first.seconds, *second.seconds)
        },
    )
