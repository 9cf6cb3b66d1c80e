"""Makes room for pods that wait: for each in turn, the fewest moves after which it fits, all of them or none.

A pod that fits as it is needs no move; the room that it takes, and the room made for those before it, is reserved. The
scheduler places the pods themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

import numpy as np

from restow.cluster.interning import IntArray
from restow.descheduling.framework import Proposal, Suggestion, Suggestions, Verdict, View
from restow.descheduling.plan import GoalResult
from restow.descheduling.rebalancing.arguments import RebalanceArgs
from restow.descheduling.rebalancing.goal import Goal
from restow.descheduling.rebalancing.model import PlanningModel, with_waiting
from restow.descheduling.rebalancing.solving import Found, Unit, find, in_order
from restow.descheduling.rebalancing.suggesting import MoveSuggestions
from restow.descheduling.rebalancing.wanted import WantedPod
from restow.scheduling.devices.supply import DeviceSupply

#: How often moves are searched for a pod, after others were refused.
_PATIENCE: Final = 5


class _Room(Enum):
    """Whether a pod got room, and how."""

    FREE = auto()
    MADE = auto()
    #: It is proven that no fewer moves make room.
    MADE_WITH_FEWEST_MOVES = auto()
    NONE = auto()
    #: It is proven that no moves make room, whatever other pods get.
    IMPOSSIBLE = auto()


#: What leaves a pod without a place, and what is known to be done with the fewest moves.
_WITHOUT: Final = (_Room.NONE, _Room.IMPOSSIBLE)
_FEWEST: Final = (_Room.FREE, _Room.MADE_WITH_FEWEST_MOVES, _Room.IMPOSSIBLE)


@dataclass(slots=True)
class _Reserved:
    """The room of pods that were given a place: requests by node."""

    taken: dict[int, IntArray]

    def take(self, node: int, vector: IntArray) -> None:
        self.taken[node] = self.taken.get(node, 0) + vector

    def within(self, model: PlanningModel) -> PlanningModel:
        """The model without that room."""
        reserved = model.problem.reserved.copy()
        for machine, node in enumerate(model.nodes.tolist()):
            if node in self.taken:
                reserved[machine] += self.taken[node]
        return replace(model, problem=replace(model.problem, reserved=reserved))


@dataclass(frozen=True, slots=True)
class RoomRequest:
    """What room is made from: the cluster, the arguments of the strategy, and its goal."""

    view: View
    args: RebalanceArgs
    goal: Goal
    #: The pods that want a place, in the order in which they get one.
    pods: tuple[WantedPod, ...]
    #: What their claims, and those of others, ask for; None if there are none.
    devices: DeviceSupply | None
    #: Makes a model in which some pods cannot go to some nodes.
    build: Callable[[dict[int, set[int]]], PlanningModel]


def make_room(asked: RoomRequest) -> Suggestions:
    """Suggest the moves that make room for the pods of a request."""
    reserved, made = _Reserved({}), list[_Room]()
    for pod in asked.pods:
        made.append((yield from _make_room_for(asked, reserved, pod)))
    asked.view.report(_result(asked.goal, made))


def _result(goal: Goal, made: Sequence[_Room]) -> GoalResult:
    before, impossible = len(made) - made.count(_Room.FREE), made.count(_Room.IMPOSSIBLE)
    without = sum(each in _WITHOUT for each in made)
    return GoalResult(
        goal.name,
        goal.unit,
        float(before),
        float(without),
        float(impossible),
        optimal=without == impossible,
        fewest_moves=all(each in _FEWEST for each in made),
    )


def _make_room_for(
    asked: RoomRequest, reserved: _Reserved, wanted: WantedPod
) -> Generator[Suggestion | Proposal, Verdict, _Room]:
    """Returns whether a pod got room, and how."""
    view, goal, closed = asked.view, asked.goal, dict[int, set[int]]()
    for number in range(_PATIENCE):
        model = _with_wanted(asked, reserved.within(asked.build(closed)), wanted)
        target = _fitting(model)
        if target >= 0:
            reserved.take(int(model.nodes[target]), model.problem.usage[-1])
            return _Room.FREE
        found = find(model, goal, asked.args)
        moves, proven = _moves(found), found.proven and not number
        if not moves:
            return _Room.IMPOSSIBLE if proven and not reserved.taken else _Room.NONE
        suggested = MoveSuggestions(view, goal, model, found.objective, frozenset())
        verdict = yield suggested.proposal(moves[:-1], f"make room for {wanted.name}")
        if verdict is Verdict.EVICTED:
            reserved.take(int(model.nodes[moves[-1].target]), model.problem.usage[-1])
            return _Room.MADE_WITH_FEWEST_MOVES if proven else _Room.MADE
        if verdict is Verdict.TOTAL_LIMIT:
            return _Room.NONE
        for move in moves[:-1]:
            closed.setdefault(suggested.pod(move.process), set()).add(suggested.node(move.target))
    return _Room.NONE


def _with_wanted(asked: RoomRequest, model: PlanningModel, wanted: WantedPod) -> PlanningModel:
    names = asked.view.state.cluster.nodes.resources
    vector = wanted.request[[names.index(name) for name in model.resources]]
    if asked.devices is not None:
        vector = np.append(vector, np.array(asked.devices.wanted(wanted.pod), dtype=np.int64))
    return with_waiting(model, wanted.pod, vector, wanted.allowed)


def _fitting(model: PlanningModel) -> int:
    """The machine with the least room on which the last process fits as things are; -1 if there is none."""
    problem = model.problem
    free = problem.capacity - problem.reserved - problem.base
    np.subtract.at(free, problem.start, problem.usage)
    needed = problem.usage[-1]
    fits = ((free >= needed) | (needed == 0)).all(axis=1) & problem.allowed[problem.class_of[-1]]
    fits[len(model.nodes) :] = False
    machines = np.flatnonzero(fits)
    return int(machines[free[machines][:, needed > 0].sum(axis=1).argmin()]) if len(machines) else -1


def _moves(found: Found) -> Unit:
    """The moves after which the last process has a place, with that process as the last; none if there is no way."""
    last = len(found.model.pods) - 1
    planned = in_order(found)
    placed = tuple(each for each in planned if each.process == last)
    return (*(each for each in planned if each.process != last), *placed) if placed else ()
