"""Decides the moves of a saved plan again on the cluster as it is now: each is made or refused, in the plan's order.

To the arbiter the plan is one more strategy: its moves are suggestions, which pass the evictor of their profile, the limits,
the budgets and the placement like any others. The strategy accepts the candidates of a move that are not in vain. So a move
is made if its replacement lands on one of these with sufficient probability, and any other landing counts as harm. A
steered replacement goes to the plan's target if it fits there. A candidate that the strategy now takes pods off is not
accepted any more.

Whether the strategy would suggest the move again does not matter: who applies a plan wants its moves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Struct, structs

from restow.cluster.budgets import CoveringBudgets
from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.descheduling.arbiter import Arbiter, Record
from restow.descheduling.cycle import FEWEST_NODES, Cycle, Fence, StrategyRunner, plugins_in_order
from restow.descheduling.evictor import DefaultEvictor
from restow.descheduling.framework import LandingCheck, PendingFilters, Proposal, Suggestion, Suggestions
from restow.descheduling.placement import EvictOnly, PluginRef
from restow.descheduling.plan import FENCE_EFFECTS, Fenced, Move
from restow.descheduling.registry import strategies
from restow.errors import InputError
from restow.policies.codes import MoveCode, OutcomeCode, Placement, PlacementConstraint, RefusalCode, SteeringMode
from restow.policies.policy import Policy, Profile
from restow.proving.disruption_budgets import DisruptionBudgets
from restow.proving.proof import Prover
from restow.proving.search import without_node_fit
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.missing_data import MissingData
from restow.scheduling.loop.schedulers import Schedulers
from restow.workloads.replacements import ReplacementPolicies, ReplacementPolicy, Replacements

#: Code and text of what has changed about a move.
ChangeFound = tuple[MoveCode, str]


class RefusedMove(Struct, frozen=True):
    """A move that does not hold any more, and why; ``code`` is stable, ``message`` is for people."""

    move: Move
    code: MoveCode
    message: str


class Replay(Struct, frozen=True):
    """The decision: the evictions of the cycle are the moves that still hold."""

    cycle: Cycle
    refused: tuple[RefusedMove, ...]


def check_plugins_enabled(moves: Iterable[Move], policy: Policy, name: str) -> None:
    """Raise InputError if a move of a plan, a file of this name, is of a strategy that its policy does not enable."""
    known = {ref for *_, ref in plugins_in_order(policy)}
    for index, move in enumerate(moves):
        if PluginRef(move.profile, move.plugin) not in known:
            raise InputError(
                f"{name}: moves[{index}].plugin: the plan's policy enables no {move.plugin} in the profile {move.profile!r}"
            )


def with_shared_candidates(moves: Sequence[Move]) -> tuple[Move, ...]:
    """The moves of a fenced plan, each with the candidates of all moves of its strategy that are not in vain.

    If a replacement lands on another candidate than its target, its place is free, and the next replacement may land there.
    The fence keeps all of them off the nodes where the strategy wants no pods.
    """
    shared: dict[PluginRef, set[str]] = {}
    for each in moves:
        shared.setdefault(PluginRef(each.profile, each.plugin), set()).update(set(each.candidates) - set(each.in_vain))
    return tuple(_widened(each, shared[PluginRef(each.profile, each.plugin)]) for each in moves)


def _widened(move: Move, shared: Collection[str]) -> Move:
    more = sorted(set(shared) - set(move.candidates))
    count = move.candidate_count + len(more)
    return structs.replace(move, candidates=(*move.candidates, *more), probabilities=(), candidate_count=count)


def replay(
    cluster: ClusterSnapshot,
    policy: Policy,
    moves: Sequence[Move],
    now: int,
    profiles: Iterable[SchedulerProfile],
    *,
    placement: Placement,
    steering: SteeringMode,
    fence: Fenced | None = None,
    changed: Mapping[str, ChangeFound] = MappingProxyType({}),
) -> Replay:
    """Decide moves that ``check_plugins_enabled`` has accepted, at a time (nanoseconds since the epoch).

    ``changed`` says by uid why some pods must stay. ``profiles`` are those of the cluster's schedulers. ``steering`` is how
    replacements are brought to their targets; if by a fence, on the nodes of ``fence`` that still exist. InputError if the
    policy names something that the cluster does not have.
    """
    proves = placement == Placement.PROVE
    policy = without_node_fit(policy) if proves else policy
    stands = None if fence is None or steering not in FENCE_EFFECTS else _found(fence, cluster)
    if stands is not None:
        cluster = replace(cluster, nodes=cluster.nodes.fenced(*stands))
    state = ClusterState(cluster, by_status=proves)
    replacements = Replacements(state, now)
    runner = StrategyRunner.of(state, policy, strategies(), now, placement=placement, steering=steering)
    missing_data = MissingData(state.cluster)
    limits = runner.limits(())
    if not proves:
        arbiter = Arbiter(state, limits, EvictOnly(state))
        return _Replaying(runner, replacements, arbiter, moves, missing_data, changed, {}).decided()
    schedulers = Schedulers(Context.of(state), profiles)
    budgets = DisruptionBudgets.of(state.cluster, CoveringBudgets(state.cluster, runner.labels), policy.restow)
    prover = Prover(runner, replacements, schedulers, budgets, missing_data, forbidden={}, groups=runner.moving_groups)
    arbiter = Arbiter(state, limits, prover, runner.moving_groups)
    watchers = runner.watchers(arbiter)
    prover.watch(watchers)
    replayed = _Replaying(runner, replacements, arbiter, moves, missing_data, changed, dict(watchers)).decided()
    return structs.replace(replayed, cycle=structs.replace(replayed.cycle, fence=stands))


def _found(fence: Fenced, cluster: ClusterSnapshot) -> Fence | None:
    """A plan's fence on those of its nodes that exist; None if none does."""
    named = frozenset(fence.nodes)
    nodes = np.array([node for node, name in enumerate(cluster.nodes.names) if name in named], dtype=np.int64)
    return Fence(nodes, fence.effect) if len(nodes) else None


@dataclass(slots=True)
class _Replaying:
    """One decision about a plan."""

    _runner: StrategyRunner
    _replacements: Replacements
    _arbiter: Arbiter
    _moves: Sequence[Move]
    _missing_data: MissingData
    _changed: Mapping[str, ChangeFound]
    #: The landing checks of the strategies; none where nothing is proven.
    _landing_checks: Mapping[PluginRef, LandingCheck]
    _state: ClusterState = field(init=False)
    _refs: dict[PluginRef, tuple[Profile, DefaultEvictor]] = field(init=False)
    #: By uid, of those that are there.
    _pods: dict[str, int] = field(init=False)
    _nodes: dict[str, int] = field(init=False)
    _replacement_policies: ReplacementPolicies = field(init=False)

    def __post_init__(self) -> None:
        self._state = self._runner.state
        cluster = self._state.cluster
        self._refs = {ref: (profile, evictor) for ref, profile, evictor in self._runner.refs()}
        wanted = {each.pod.uid for each in self._moves}
        self._pods = {uid: pod for pod, uid in enumerate(cluster.pods.uids) if uid in wanted}
        self._nodes = {name: node for node, name in enumerate(cluster.nodes.names)}
        self._replacement_policies = ReplacementPolicies(cluster)

    def decided(self) -> Replay:
        reasons: dict[str, ChangeFound] = {}
        for ref, groups in groupby(groupby(self._moves, key=_proposed), key=lambda each: each[0][0]):
            self._settle(ref, [list(moves) for _, moves in groups], reasons)
        record = self._arbiter.record()
        uids = self._state.cluster.pods.uids
        for each in record.refusals:
            reasons |= {uids[pod]: each.reason[1:] for pod in (each.pod, *each.others)}
        reasons |= self._unjudged(record, reasons)
        refused = tuple(RefusedMove(each, *reasons[each.pod.uid]) for each in self._moves if each.pod.uid in reasons)
        return Replay(self._runner.cycle(record, self._missing_data.missed), refused)

    def _unjudged(self, record: Record, reasons: Collection[str]) -> dict[str, ChangeFound]:
        """Refuse the moves that were not decided because their strategy could not work."""
        judged = {self._state.cluster.pods.uids[each.pod] for each in record.evictions} | set(reasons)
        problems = {(ref.profile, ref.plugin): message for ref, message in record.problems}
        return {
            each.pod.uid: (
                OutcomeCode.UNKNOWN,
                f"{each.plugin} could not judge it: {problems[each.profile, each.plugin]}",
            )
            for each in self._moves
            if each.pod.uid not in judged
        }

    def _stale(self, move: Move) -> ChangeFound | None:
        """Why a move is out of date and need not be decided; None if it is not."""
        if move.pod.uid in self._changed:
            return self._changed[move.pod.uid]
        pod = self._pods.get(move.pod.uid)
        if pod is None:
            return OutcomeCode.GONE, "it is already gone"
        message = self._elsewhere(move, int(self._state.node[pod]))
        if (
            message is None
            and move.target is not None
            and self._replacement_policies.of(pod) is ReplacementPolicy.NOT_NEEDED
        ):
            message = "it has ended, so nothing would come in its place"
        return None if message is None else (OutcomeCode.STALE, message)

    def _elsewhere(self, move: Move, node: int) -> str | None:
        """Why a move does not fit the node that its pod is on now; None if it does."""
        nodes = self._runner.nodes
        if node != self._nodes.get(move.source):
            return f"it is not on {move.source}, from where the plan moves it"
        if len(nodes) < FEWEST_NODES:
            return f"of two nodes that are ready and selected by the policy there {_there(len(nodes))}"
        return None if node in nodes else f"{move.source} is not ready, or not selected by the policy any more"

    def _joined(self, moves: Sequence[Move]) -> dict[str, ChangeFound]:
        """Why none of some moves is made, by uid: a group has pods now that the plan does not move with it."""
        groups = self._runner.moving_groups
        other = None if groups is None else groups.left_behind([self._pods[each.pod.uid] for each in moves])
        if groups is None or other is None:
            return {}
        name = self._state.cluster.pods.full_name(other)
        message = f"{groups.title(other)} moves as a whole, and {name} belongs to it, which the plan does not move"
        return {each.pod.uid: (RefusalCode.GROUP_MEMBER, message) for each in moves}

    def _settle(self, ref: PluginRef, groups: Sequence[Sequence[Move]], reasons: dict[str, ChangeFound]) -> None:
        """Decide the moves of one strategy by the arbiter; each group is a proposal or a single move."""
        ranked_candidates: list[Sequence[Move]] = []
        for group in groups:
            found = {each.pod.uid: why for each in group if (why := self._stale(each)) is not None}
            if not found:
                found = self._joined(group)
            if found:
                reasons |= {each.pod.uid: found.get(each.pod.uid) or _with_others(group, found) for each in group}
            else:
                ranked_candidates.append(group)
        _, evictor = self._refs[ref]
        # Filter is asked before the first of them goes, as strategies do; of a proposal the arbiter asks everything.
        single = [self._pods[group[0].pod.uid] for group in ranked_candidates if group[0].proposal is UNSET]
        pods = np.array(single, dtype=np.int64)
        passes = evictor.passes_filter(pods)
        self._arbiter.refuse(ref, evictor, pods[~passes])
        held = set(pods[~passes].tolist())
        left = [group for group in ranked_candidates if self._pods[group[0].pod.uid] not in held]
        self._arbiter.settle(ref, self._suggestions(ref, left), evictor)

    def _suggestions(self, ref: PluginRef, groups: Iterable[Sequence[Move]]) -> Suggestions:
        giving = self._giving(ref)
        for group in groups:
            # Sorting all nodes takes time, and moves before may only have relieved some of them.
            if any(np.isin(self._indices(each.candidates), giving).any() for each in group):
                giving = self._giving(ref)
            suggestions = tuple(self._suggestion(ref, each, giving) for each in group)
            proposal = group[0].proposal
            yield suggestions[0] if proposal is UNSET else Proposal(suggestions, proposal.purpose)

    def _giving(self, ref: PluginRef) -> IntArray:
        """The nodes that the strategy takes pods off now and puts none on; none if it does not sort nodes."""
        sort_nodes, (profile, evictor) = strategies()[ref.plugin].sort_nodes, self._refs[ref]
        view = self._runner.view(self._arbiter, ref, evictor)
        if sort_nodes is None or not view.proves:
            return np.array([], dtype=np.int64)
        classes = sort_nodes(view, profile.args[ref.plugin])
        return np.array([node for node, each in classes.items() if each.gives and not each.receives], dtype=np.int64)

    def _suggestion(self, ref: PluginRef, move: Move, giving: IntArray) -> Suggestion:
        pod = self._pods[move.pod.uid]
        in_vain = self._indices(move.in_vain)
        good = np.setdiff1d(self._indices(move.candidates), in_vain)
        stays = self._nodes[move.source] in good
        good = np.setdiff1d(good, giving)
        check = self._landing_checks.get(ref)
        return Suggestion(
            pod,
            move.reason,
            PlacementConstraint.ANYWHERE if stays else move.constraint,
            PendingFilters.PRE_EVICTION if move.proposal is UNSET else PendingFilters.ALL,
            accepts=partial(_among, good)
            if check is None
            else partial(_undisputed, good, check, self._replacements.of(pod)),
            worse=partial(_outside, in_vain),
            cost=partial(_distance, self._nodes.get(move.target or "", -1)),
            by_plan=True,
        )

    def _indices(self, names: Iterable[str]) -> IntArray:
        return np.array([self._nodes[name] for name in names if name in self._nodes], dtype=np.int64)


def _proposed(move: Move) -> tuple[PluginRef, str]:
    """The key of the proposal that a move is part of. A move of its own has a key of its own."""
    ref = PluginRef(move.profile, move.plugin)
    return ref, move.pod.uid if move.proposal is UNSET else f" {move.proposal.purpose}"


def _with_others(group: Sequence[Move], found: Mapping[str, ChangeFound]) -> ChangeFound:
    """Why a pod of a proposal stays, if other pods of it cannot be moved."""
    first = next(each for each in group if each.pod.uid in found)
    code, message = found[first.pod.uid]
    return code, f"it is moved together with {first.pod} or not at all: {message}"


def _there(count: int) -> str:
    return "is one" if count else "is none"


def _among(chosen: IntArray, nodes: IntArray) -> BoolArray:
    return np.isin(nodes, chosen)


def _undisputed(chosen: IntArray, check: LandingCheck, replacement: int, nodes: IntArray) -> BoolArray:
    return _among(chosen, nodes) & ~check(replacement, nodes)


def _outside(chosen: IntArray, nodes: IntArray) -> BoolArray:
    return ~_among(chosen, nodes)


def _distance(target: int, nodes: IntArray) -> npt.NDArray[np.float64]:
    """The cost of landing on each of some nodes: 0 for the target, 1 for all others."""
    distances: npt.NDArray[np.float64] = (nodes != target).astype(np.float64)
    return distances
