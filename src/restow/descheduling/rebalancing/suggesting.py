"""Turns planned moves into suggestions: on which nodes the landing is good, and why the pod moves."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.descheduling.framework import Proposal, Suggestion, View
from restow.descheduling.rebalancing.goal import Goal
from restow.descheduling.rebalancing.machine_loads import MachineLoads
from restow.descheduling.rebalancing.model import PlanningModel
from restow.descheduling.rebalancing.solving import PlannedMove, Unit
from restow.optimizing.evaluation import evaluate, loads
from restow.optimizing.problem import Objective
from restow.policies.codes import PlacementConstraint


class MoveSuggestions:
    """The suggestions of one search's moves, as earlier ones are made."""

    def __init__(
        self, view: View, goal: Goal, model: PlanningModel, objective: Objective, emptied: frozenset[int]
    ) -> None:
        """``emptied`` are the machines that the moves empty."""
        self._view, self._model, self._goal = view, model, goal
        problem = replace(model.problem, objective=objective)
        self._loads = MachineLoads(model, goal, objective, np.array(sorted(emptied), dtype=np.int64))
        self._cost = max(evaluate(problem, problem.start).machines, 1)
        self._load, self._capacity = loads(problem, problem.start), problem.capacity

    def pod(self, process: int) -> int:
        """The pod of a process."""
        return int(self._model.pods[process])

    def node(self, machine: int) -> int:
        """The node of a machine."""
        return int(self._model.nodes[machine])

    def suggestion(self, move: PlannedMove, reason: str) -> Suggestion:
        """The suggestion to move a process: to its target, or, if the scheduler chooses, to wherever the goal gains.

        A pod of a node that is emptied may go to any node in use if it cannot go to its target.
        """
        pod, target = self.pod(move.process), self.node(move.target)
        used = None if self._model.of_pod is None else self._model.of_pod(pod)
        if self._goal.for_waiting or (self._view.chooses_targets and not self._goal.empties):
            return Suggestion(pod, reason, PlacementConstraint.BETTER, accepts=partial(_is, target), used=used)
        good = partial(self._loads.gains, move.process, move.source)
        bad = partial(self._loads.loses, move.process, move.source)
        cost = partial(self._distance, move)
        return Suggestion(pod, reason, PlacementConstraint.BETTER, accepts=good, worse=bad, cost=cost, used=used)

    def _distance(self, move: PlannedMove, nodes: IntArray) -> npt.NDArray[np.float64]:
        """How far each node is from the plan: not at all, elsewhere, or where the search may not put the pod."""
        built = self._model.problem
        may_go = np.zeros(len(self._view.is_listed), dtype=bool)
        may_go[self._model.nodes] = built.allowed[built.class_of[move.process], : len(self._model.nodes)]
        distance: npt.NDArray[np.float64] = np.where(may_go[nodes], 1.0, 2.0)
        distance[nodes == self.node(move.target)] = 0.0
        return distance

    def proposal(self, moves: Unit, purpose: str) -> Proposal:
        """The proposal to make moves together."""
        reason = f"goal {self._goal.name}: {purpose}"
        return Proposal(tuple(self.suggestion(each, reason) for each in moves), purpose)

    def made(self, moves: Unit) -> None:
        """Count moves that were made, where their replacements have landed."""
        for each in moves:
            self._loads.move(each.process, each.source, self._view.landing_of(self.pod(each.process)))

    def gain(self, moves: Unit) -> int:
        """By how much the cost falls if these moves are made now."""
        return self._loads.gain(moves)

    def reason(self, move: PlannedMove) -> str:
        """How full the node is, and what share of the goal's cost the move takes away."""
        name = self._view.state.cluster.nodes.names[self.node(move.source)]
        shares = ", ".join(
            f"{resource} {100 * self._load[move.source, column] / max(self._capacity[move.source, column], 1):.0f} %"
            for resource, column in self._model.columns.items()
        )
        worth = 100 * self._loads.gain((move,)) / self._cost
        return f"goal {self._goal.name}: {name} has {shares}; worth {worth:.2g} % of what the goal counts"

    def names(self, moves: Unit) -> str:
        """The pods of moves, for people: two of them, and how many more there are."""
        names = [self._view.pods.full_name(self.pod(each.process)) for each in moves]
        return " and ".join([*names[:2], *([f"{len(names) - 2} more"] if len(names) > 2 else [])])


def _is(target: int, nodes: IntArray) -> BoolArray:
    is_target: BoolArray = nodes == target
    return is_target
