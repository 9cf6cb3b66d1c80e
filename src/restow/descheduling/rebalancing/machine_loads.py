"""What each node carries while moves are made, and on which nodes a landing is good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.descheduling.rebalancing.goal import Goal
from restow.descheduling.rebalancing.model import PlanningModel
from restow.optimizing.evaluation import loads, machine_costs
from restow.optimizing.problem import Objective, shares


class MachineLoads:
    """The loads of machines, changed by each move that is made."""

    def __init__(self, model: PlanningModel, goal: Goal, objective: Objective, going: IntArray) -> None:
        """``going`` are the machines that the moves are to empty."""
        self._problem = problem = replace(model.problem, objective=objective)
        self._goal = goal
        self._share = shares(problem)
        self._load = loads(problem, problem.start)
        self._count = np.bincount(problem.start, minlength=problem.machines)
        self._machine = np.full(int(model.nodes.max(initial=-1)) + 1, -1)
        self._machine[model.nodes] = np.arange(len(model.nodes))
        #: Machines that pods may be put on although the goal gains nothing yet: those that stay in use.
        self._in_use = model.kept | (self._count > 0)
        self._in_use[going] = False
        self._measured = model.measured
        self._most = problem.capacity - problem.reserved

    def move(self, process: int, source: int, node: int) -> None:
        """Count a process on the machine of a node, or nowhere if that is not known."""
        usage, target = self._problem.usage[process], self._of(np.array([node]))[0]
        self._load[source] -= usage
        self._count[source] -= 1
        if target >= 0:
            self._load[target] += usage
            self._count[target] += 1

    def gain(self, moves: Sequence[tuple[int, int, int]]) -> int:
        """By how much the cost falls if processes go from machines to machines: process, source and target each."""
        touched = np.unique([machine for _, *both in moves for machine in both])
        before = self._costs(self._load[touched], self._count[touched], touched).sum()
        load, count = self._load.copy(), self._count.copy()
        for process, source, target in moves:
            load[[source, target]] += np.outer((-1, 1), self._problem.usage[process])
            count[[source, target]] += (-1, 1)
        return int(before - self._costs(load[touched], count[touched], touched).sum())

    def gains(self, process: int, source: int, nodes: IntArray) -> BoolArray:
        """On which of some nodes the landing of a process is good for the goal: its cost falls."""
        machines = self._of(nodes)
        good = self._in_use[machines] if self._goal.empties else self._falls(process, source, machines) > 0
        found: BoolArray = (machines >= 0) & good & self._has_room(process, machines)
        return found

    def loses(self, process: int, source: int, nodes: IntArray) -> BoolArray:
        """On which of some nodes the landing would be worse than if the process stayed."""
        machines = self._of(nodes)
        bad = ~self._in_use[machines] if self._goal.empties else self._falls(process, source, machines) < 0
        bad |= ~self._has_room(process, machines)
        found: BoolArray = (machines >= 0) & bad & (machines != source)
        return found

    def _has_room(self, process: int, machines: IntArray) -> BoolArray:
        """Which machines have room for a process by measured usage; by requests the scheduler sees to it."""
        load = self._load[machines] + self._problem.usage[process]
        within: BoolArray = (load <= self._most[machines])[:, self._measured].all(axis=1)
        return within

    def _falls(self, process: int, source: int, machines: IntArray) -> IntArray:
        """By how much the cost falls if a process goes from its machine to each of some."""
        usage, here = self._problem.usage[process], np.array([source])
        without = self._costs(self._load[here] - usage, self._count[here] - 1, here)
        now = self._costs(self._load[machines], self._count[machines], machines)
        there = self._costs(self._load[machines] + usage, self._count[machines] + 1, machines)
        fall = self._costs(self._load[here], self._count[here], here) - without + now - there
        fall[machines == source] = 0
        return fall

    def _costs(self, load: IntArray, count: IntArray, machines: IntArray) -> IntArray:
        problem = self._problem
        return machine_costs(problem, self._share, load, count, machines.astype(np.int32))

    def _of(self, nodes: IntArray) -> IntArray:
        known = (nodes >= 0) & (nodes < len(self._machine))
        return np.where(known, self._machine[np.where(known, nodes, 0)], -1)
