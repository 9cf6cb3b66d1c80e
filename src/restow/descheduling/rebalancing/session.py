"""Searches, suggests what was found, takes refusals as rules, and searches again from there.

The proof knows more rules than the search. A refused move is forbidden, the moves that were made stay, and the next
search begins on the state that they left; so does the first search of the next plan. It ends when a search finds nothing
that is worth its moves, or nothing was refused.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from msgspec import structs

from restow.cluster.interning import IntArray
from restow.descheduling.framework import EarlierSearch, Proposal, Suggestion, Suggestions, Verdict, View
from restow.descheduling.node_utilization.measured import measured
from restow.descheduling.plan import GoalResult
from restow.descheduling.rebalancing import combining
from restow.descheduling.rebalancing.arguments import MEASURED, RebalanceArgs
from restow.descheduling.rebalancing.combining import GoalStep
from restow.descheduling.rebalancing.devices import device_supply
from restow.descheduling.rebalancing.goal import Goal, SuggestedGoal
from restow.descheduling.rebalancing.goals import goals
from restow.descheduling.rebalancing.holding_back import held_back
from restow.descheduling.rebalancing.model import MeasuredLoad, PlanningModel, build
from restow.descheduling.rebalancing.refusals import Refusals
from restow.descheduling.rebalancing.solving import (
    FIRST,
    Begin,
    Found,
    Unit,
    best_possible,
    find,
    guard_of,
    in_order,
    in_units,
    proven_bound,
    searched_objective,
    value_now,
)
from restow.descheduling.rebalancing.suggesting import MoveSuggestions
from restow.descheduling.rebalancing.waiting import RoomRequest, make_room
from restow.descheduling.rebalancing.wanted import wanted_pods
from restow.scheduling.devices.supply import DeviceSupply

#: The decisions on suggestions, and whether one was refused.
_Asking = Generator[Suggestion | Proposal, Verdict, bool]

#: Values are rounded to so many digits.
_DIGITS: Final = 4

#: How often a plan searches at most.
_SEARCHES: Final = 8


@dataclass(frozen=True, slots=True)
class _Setting:
    """What a plan is made from: the cluster, the arguments of the strategy, measured usage, and what was refused so far."""

    view: View
    args: RebalanceArgs
    measured: MeasuredLoad | None
    devices: DeviceSupply | None
    refusals: Refusals

    def model(self, without: str = "") -> PlanningModel:
        """The cluster as it is, with what was refused as rules; as if one budget allowed everything, if that is named."""
        view, args = self.view, self.args
        budget = len(view.pods) if args.budget is None else max(args.budget - view.moves_made(), 0)
        chosen = view.running_pods(args.namespaces, args.label_selector) & ~self.refusals.stay()
        model = build(view, chosen, args.resources, self.measured, self.devices, budget=budget, without=without)
        return _with_closed(model, self.refusals.closed)

    def value(self, model: PlanningModel, goal: Goal) -> float:
        """What a goal is worth as the pods are."""
        return round(value_now(model, goal, goal.objective(model, self.args), self.args), _DIGITS)


def suggestions(view: View, args: RebalanceArgs) -> Suggestions:
    """Suggest the moves that together bring the cluster nearest to the goals of the arguments."""
    wanted = combining.sums(args.goal)
    names = [name for each in wanted for name in each]
    goal = goals()[names[0]]
    if len(names) == 1 and isinstance(goal, SuggestedGoal):
        yield from goal.suggest(view, args)
    elif len(names) == 1 and isinstance(goal, Goal) and goal.for_waiting:
        yield from make_room(_room_request(view, args, goal))
    else:
        load = _measured_load(view, args)
        yield from _one_after_another(
            _Setting(view, args, load, device_supply(view), Refusals(view)), combining.steps(wanted)
        )


def _measured_load(view: View, args: RebalanceArgs) -> MeasuredLoad | None:
    """What counts as load in place of requests; None: nothing does. StrategyError if it is not known."""
    return MeasuredLoad(measured(view, args.resources), args.headroom) if args.usage == MEASURED else None


def _one_after_another(setting: _Setting, steps: Sequence[GoalStep]) -> Suggestions:
    """Work towards goals in their order, and report all of them when the last one has made its moves."""
    model = setting.model()
    if model.unmeasured:
        setting.view.note(f"pods stay whose usage is not known: {model.unmeasured:,}")
    for each in steps:  # Those that cannot be combined are refused before anything moves.
        searched_objective(model, each.goal, setting.args, guard_of(model, each.goal, setting.args))
    wanted = {goal.name: goal for each in steps for goal in each.members}
    results = {goal.name: _before(setting, model, goal) for goal in wanted.values()}
    for each in steps:
        known = results.get(each.goal.name) or _before(setting, model, each.goal)
        result = yield from _towards(setting, each.goal, known)
        results |= _for_members(each, result, results)
    model = setting.model()
    for goal in wanted.values():
        result, after = results[goal.name], setting.value(model, goal)
        fewest = result.fewest_moves and len(wanted) == 1
        setting.view.report(structs.replace(result, fewest_moves=fewest).ending_at(after))


def _for_members(step: GoalStep, result: GoalResult, before: Mapping[str, GoalResult]) -> dict[str, GoalResult]:
    """What a search says of each goal that it was for: of a sum, the nodes that it emptied."""
    if len(step.members) == 1:
        return {step.goal.name: result}
    emptying = [before[each.name] for each in step.members if each.empties and step.goal.empties]
    return {each.goal: structs.replace(each, emptied=result.emptied) for each in emptying}


def _towards(
    setting: _Setting, goal: Goal, result: GoalResult
) -> Generator[Suggestion | Proposal, Verdict, GoalResult]:
    """Make the moves for one goal; returns its result with what came of it, and what is proven of that."""
    args, refusals = setting.args, setting.refusals
    model = begin = setting.model()
    fewest, made = False, setting.view.moves_made()
    for number in range(_SEARCHES):
        found = find(model, goal, args, _begin(setting.view, model))
        _keep(setting.view, found)
        if number == 0:
            result = _with_proof(setting, goal, result, found)
        refused = yield from (_node_by_node if goal.empties else _unit_by_unit)(setting.view, goal, found, refusals)
        model = setting.model()
        fewest = number == 0 and not refused and found.proven and setting.view.moves_made() - made == found.moves
        if refusals.ended or not refused:
            break
    price = goal.objective(begin, args).price
    emptied = _names_of_emptied(setting.view, begin, model, price) if goal.empties else ()
    return structs.replace(result, after=setting.value(model, goal), fewest_moves=fewest, emptied=emptied)


def _begin(view: View, model: PlanningModel) -> Begin:
    """Where the plan before this one wanted the pods that have not moved since."""
    if not view.earlier.plans:
        return FIRST
    machine_of = {view.state.cluster.nodes.names[node]: machine for machine, node in enumerate(model.nodes.tolist())}
    place = model.problem.start.copy()
    for process, pod in enumerate(model.pods.tolist()):
        name = view.earlier.places.get(view.pods.uids[pod])
        place[process] = machine_of.get(name, place[process])
    return Begin(view.earlier.plans, place)


def _keep(view: View, found: Found) -> None:
    """Tell the next plan where this search wants pods to go."""
    names, model = view.state.cluster.nodes.names, found.model
    moved = np.flatnonzero(found.place != model.problem.start)
    machines = model.nodes[found.place[moved]]
    places = {
        view.pods.uids[pod]: names[node]
        for pod, node in zip(model.pods[moved].tolist(), machines.tolist(), strict=True)
    }
    view.keep(EarlierSearch(view.earlier.plans + 1, places))


def _with_proof(setting: _Setting, goal: Goal, result: GoalResult, found: Found) -> GoalResult:
    """The result with what the exact search has proven of a goal that comes first, and with what holds it back."""
    if goal.empties:
        result = structs.replace(result, held_back=held_back(found, goal, setting.args, setting.model))
    value = setting.value(replace(found.model, problem=replace(found.model.problem, start=found.place)), goal)
    if goal.guard is not None or result.bound is None or value <= result.bound:
        return result
    best = proven_bound(found, goal, setting.args)
    return (
        result if best is None else structs.replace(result, bound=max(result.bound, min(round(best, _DIGITS), value)))
    )


def _names_of_emptied(
    view: View, before: PlanningModel, after: PlanningModel, price: IntArray | None
) -> tuple[str, ...]:
    """The nodes that were in use before and are not after, the dearest first, then by name."""
    price = np.zeros(len(before.nodes), np.int64) if price is None else price
    used = [each.kept | (np.bincount(each.problem.start, minlength=len(each.nodes)) > 0) for each in (before, after)]
    machines = np.flatnonzero(used[0] & ~used[1])
    names = view.state.cluster.nodes.names
    dearest = sorted(machines.tolist(), key=lambda machine: (-int(price[machine]), names[before.nodes[machine]]))
    return tuple(names[before.nodes[machine]] for machine in dearest)


def _room_request(view: View, args: RebalanceArgs, goal: Goal) -> RoomRequest:
    wanted, names = wanted_pods(view, args.pods), view.state.cluster.nodes.resources
    needed = {names[row] for each in wanted for row in np.flatnonzero(each.request).tolist()}
    args = structs.replace(args, resources=(*args.resources, *sorted(needed - set(args.resources))))
    devices = device_supply(view)
    bare = _Setting(view, args, None, devices, Refusals(view)).model
    return RoomRequest(view, args, goal, wanted, devices, lambda closed: _with_closed(bare(), closed))


def _before(setting: _Setting, model: PlanningModel, goal: Goal) -> GoalResult:
    """What the goal is worth before any move, and at best."""
    now = setting.value(model, goal)
    best = best_possible(model, goal, goal.objective(model, setting.args), setting.args)
    usage = "" if setting.measured is None else setting.measured.usage.summary
    return GoalResult(goal.name, goal.unit, now, now, min(round(best, _DIGITS), now), usage=usage)


def _with_closed(model: PlanningModel, closed: dict[int, set[int]]) -> PlanningModel:
    """The model in which some pods cannot go to some nodes: each of them gets a class of its own."""
    processes = [process for process, pod in enumerate(model.pods.tolist()) if pod in closed]
    if not processes:
        return model
    problem, class_of = model.problem, model.problem.class_of.copy()
    rows = problem.allowed[class_of[processes]]
    for row, process in zip(rows, processes, strict=True):
        row[np.isin(model.nodes, list(closed[int(model.pods[process])]))] = False
    class_of[processes] = len(problem.allowed) + np.arange(len(processes), dtype=np.int32)
    allowed = np.vstack([problem.allowed, rows])
    return replace(model, problem=replace(problem, class_of=class_of, allowed=allowed))


def _unit_by_unit(view: View, goal: Goal, found: Found, refusals: Refusals) -> _Asking:
    """Suggest each unit of moves; returns whether one was refused, or is not worth it any more because another was."""
    suggested = MoveSuggestions(view, goal, found.model, found.objective, frozenset())
    refused = False
    for moves in in_units(found):
        if refused and suggested.gain(moves) < found.least[[each.process for each in moves]].sum():
            continue
        verdict = yield _asked(suggested, moves)
        if verdict is Verdict.EVICTED:
            suggested.made(moves)
            continue
        refused = True
        for each in moves:
            refusals.learn(suggested.pod(each.process), suggested.node(each.target), verdict)
        if refusals.ended:
            break
    return refused


def _asked(suggested: MoveSuggestions, moves: Unit) -> Suggestion | Proposal:
    if len(moves) == 1:
        return suggested.suggestion(moves[0], suggested.reason(moves[0]))
    return suggested.proposal(moves, f"move {suggested.names(moves)} together")


def _node_by_node(view: View, goal: Goal, found: Found, refusals: Refusals) -> _Asking:
    """Propose to empty each node, with the moves that make room for that; returns whether a proposal was refused."""
    planned = in_order(found)
    emptied = _emptied(found.model, planned)
    suggested = MoveSuggestions(view, goal, found.model, found.objective, emptied)
    last = {move.source: position for position, move in enumerate(planned) if move.source in emptied}
    ahead = [position for position, move in enumerate(planned) if move.source not in last]
    refused = False
    for machine, position in sorted(last.items(), key=lambda item: item[1]):
        own = tuple(each for each in planned if each.source == machine)
        moves = (*(planned[each] for each in ahead if each < position), *own)
        name = view.state.cluster.nodes.names[suggested.node(machine)]
        verdict = yield suggested.proposal(moves, f"empty {name}")
        if verdict is Verdict.EVICTED:
            ahead = [each for each in ahead if each > position]
            suggested.made(moves)
            continue
        refused = True
        refusals.ended |= verdict is Verdict.TOTAL_LIMIT
        refusals.pods.update(suggested.pod(each.process) for each in own)
        if refusals.ended:
            break
    return refused


def _emptied(model: PlanningModel, moves: Unit) -> frozenset[int]:
    """The machines that moves leave without a process."""
    count = np.bincount(model.problem.start, minlength=len(model.nodes))
    for each in moves:
        count[[each.source, each.target]] += (-1, 1)
    return frozenset(each.source for each in moves if not count[each.source] and not model.kept[each.source])
