"""The search's inner loop in NumPy, where the compiled one is missing: one process against all machines at once.

Slower by two orders of magnitude for each try, but a try looks at every machine. It makes shifts only, and keeps the same
rules; results are valid, and differ from the compiled ones.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from restow.optimizing.evaluation import evaluate, held, loads, machine_costs, staying
from restow.optimizing.logarithms import ENTRIES, negative_logarithms
from restow.optimizing.problem import Flags, Indices, Integers, ReassignmentProblem, shares
from restow.optimizing.skews import SkewCounts

_MASK = (1 << 64) - 1
#: Larger than any change, for machines that are not possible.
NEVER = np.iinfo(np.int64).max
_NONE = np.zeros(0, np.int32)


class VectorisedState:
    """An assignment that shifts change, with the loads and costs of machines."""

    def __init__(self, problem: ReassignmentProblem, seed: int) -> None:
        self.problem = problem
        self.place = problem.start.copy()
        self.best = problem.start.copy()
        self._share = shares(problem)
        self._load = loads(problem, self.place)
        #: What is free on each machine, [machine, resource].
        self.room = problem.capacity - held(problem, self.place)
        self._count = np.bincount(self.place, minlength=problem.machines)
        self._machine_cost = machine_costs(problem, self._share, self._load, self._count)
        self._moved_of = np.zeros(len(problem.services.limit), np.int64)
        self._members = _members(problem)
        self._staying = staying(problem.services)
        self._needed_by = _needed_by(problem)
        self._moved_in_group = np.zeros(len(problem.limits.most), np.int64)
        self._skews = SkewCounts(problem, self.place)
        self._random = seed & _MASK
        self.moved = 0
        self.cost = self.best_cost = evaluate(problem, self.place).cost

    def anneal(self, temperature: float, steps: int, parts: Integers, sample: int) -> int:  # noqa: ARG002  shifts alone, and every machine is asked
        """Make tries at one temperature, a cost: a random process goes where it is cheapest, if that is allowed."""
        made = 0
        for _ in range(steps):
            process = self._draw(self.problem.processes)
            most = temperature * float(negative_logarithms()[self._draw(ENTRIES)])
            changes = self.changes(process)
            machine = self._cheapest(changes)
            if machine >= 0 and changes[machine] <= most:
                self._move(process, machine, int(changes[machine]))
                made += 1
        return made

    def greedy(self, limit: int, sample: int) -> int:  # noqa: ARG002  every machine is asked
        """Make the best shift until none is for the better or `limit` were made; return how many."""
        heap = []
        for process in range(self.problem.processes):
            change = int(self.changes(process).min())
            if change < 0:
                heap.append((change, process))
        heapq.heapify(heap)
        made = 0
        while heap and made < limit:
            _, process = heap[0]
            changes = self.changes(process)
            machine = int(changes.argmin())
            change = int(changes[machine])
            if change >= 0:
                heapq.heappop(heap)
                continue
            heapq.heapreplace(heap, (change, process))
            if heap[0][1] == process:
                self._move(process, machine, change)
                made += 1
        return made

    def empty_in_order(self, machines: Indices) -> int:
        """Empty machines in this order, each if all of its processes find a place and the cost falls; return how many."""
        return sum(map(self._empty, machines.tolist()))

    def _empty(self, machine: int) -> bool:
        made: list[tuple[int, int]] = []
        cost, best, best_cost = self.cost, self.best, self.best_cost
        for process in np.flatnonzero(self.place == machine).tolist():
            changes = self.changes(process)
            target = self._cheapest(changes)
            if target < 0:
                break
            made.append((process, int(changes[target])))
            self._move(process, target, int(changes[target]))
        if made and not self._count[machine] and self.cost < cost:
            return True
        for process, change in reversed(made):
            self._move(process, machine, -change)
        self.best, self.best_cost = best, best_cost
        return False

    def mean_change(self, draws: int) -> int:
        """Return by how much a random possible shift changes the cost, on average."""
        found: list[int] = []
        for _ in range(max(draws // self.problem.machines, 8)):
            changes = self.changes(self._draw(self.problem.processes))
            found += np.abs(changes[changes != NEVER]).tolist()
        return sum(found) // len(found) if found else 0

    def move_to(self, place: Indices) -> None:
        """Make an assignment the current one; one that keeps the rules."""
        problem = self.problem
        self.place = place.copy()
        self._load = loads(problem, place)
        self.room = problem.capacity - held(problem, place)
        self._count = np.bincount(place, minlength=problem.machines)
        self._machine_cost = machine_costs(problem, self._share, self._load, self._count)
        moved = place != problem.start
        self.moved = int(moved.sum())
        self._moved_of = np.bincount(problem.service_of[moved], minlength=len(problem.services.limit))
        group_of = problem.limits.group_of[moved]
        self._moved_in_group = np.bincount(group_of[group_of >= 0], minlength=len(problem.limits.most))
        self._skews = SkewCounts(problem, place)
        self.cost = evaluate(problem, place).cost
        self._save()

    def go(self, process: int, machine: int) -> None:
        """Put a process on a machine where it may be."""
        self._move(process, machine, int(self.changes(process)[machine]))

    def changes(self, process: int) -> Integers:
        """Return for each machine how the cost changes if the process goes there; the largest integer where it may not."""
        problem, usage, here = self.problem, self.problem.usage[process], int(self.place[process])
        without = machine_costs(problem, self._share, self._load[here] - usage, self._count[here] - 1, here)
        change = machine_costs(problem, self._share, self._load + usage, self._count + 1)
        change += int(without) - self._machine_cost[here] - self._machine_cost
        change += self._move_costs(process)
        return np.where(self._possible(process), change, NEVER)

    def _move_costs(self, process: int) -> Integers:
        """The change of what moves cost, for each machine."""
        moves, start, here = self.problem.objective.moves, self.problem.start[process], self.place[process]
        costs = np.zeros(self.problem.machines, np.int64)
        if moves.process is not None:
            costs += moves.process[process]
        if moves.distance is not None:
            costs += moves.distance_weight * moves.distance[start].astype(np.int64)
        service = self.problem.service_of[process]
        most, of_service = int(self._moved_of.max()), self._moved_of.copy()
        of_service[service] += 1 if here == start else -1
        other = moves.service_weight * (int(of_service.max()) - most)
        if here == start:
            costs += other
        costs[start] = 0 if here == start else other
        difference: Integers = costs - costs[here]
        return difference

    def _possible(self, process: int) -> Flags:
        """The machines where a process may go."""
        problem, here, start = self.problem, self.place[process], self.problem.start[process]
        usage = problem.usage[process]
        possible: Flags = ((usage <= self.room) | (usage == 0)).all(axis=1)
        possible[start] = ((usage <= self.room[start]) | (usage == 0) | problem.transient).all()
        possible &= problem.allowed[problem.class_of[process]]
        possible[here] = False
        if here == start and (self.moved >= problem.budget or self._group_is_used(process)):
            possible[:] = False
        return possible & self._service_allows(process) & self._skews.allowed(process, int(here))

    def _group_is_used(self, process: int) -> bool:
        limits, group = self.problem.limits, int(self.problem.limits.group_of[process])
        return group >= 0 and bool(self._moved_in_group[group] >= limits.most[group])

    def _service_allows(self, process: int) -> Flags:
        problem, services = self.problem, self.problem.services
        service, here = int(problem.service_of[process]), self.place[process]
        members = self._members[service]
        others = np.append(self.place[members[members != process]], self._staying.get(service, _NONE))
        allowed = np.ones(problem.machines, np.bool_)
        limit = services.limit[service]
        if limit:
            allowed &= np.bincount(others, minlength=problem.machines) < limit
        if services.spread[service] > 1:
            used = np.isin(problem.location, problem.location[others])
            number = len(np.unique(problem.location[np.append(others, here)]))
            least = min(int(services.spread[service]), number)
            if len(np.unique(problem.location[others])) < least:
                allowed &= ~used | (problem.location == problem.location[here])
        for needed in services.needs[service]:
            if needed != service:
                allowed &= np.isin(problem.neighbourhood, self._near(needed))
        return allowed & self._others_allow(service, others, int(problem.neighbourhood[here]))

    def _others_allow(self, service: int, others: Indices, old: int) -> Flags:
        """The machines where the service may go as far as services are concerned that need it where it is."""
        neighbourhood = self.problem.neighbourhood
        allowed: Flags = np.ones(self.problem.machines, np.bool_)
        if not (neighbourhood[others] == old).any():
            for needing in self._needed_by[service]:
                if needing != service and (self._near(needing) == old).any():
                    allowed = neighbourhood == old
        return allowed

    def _near(self, service: int) -> Indices:
        """The neighbourhoods of a service's members."""
        machines = np.append(self.place[self._members[service]], self._staying.get(service, _NONE))
        return self.problem.neighbourhood[machines]

    def _cheapest(self, changes: Integers) -> int:
        machine = int(changes.argmin())
        return machine if changes[machine] != NEVER else -1

    def _move(self, process: int, machine: int, change: int) -> None:
        problem, usage = self.problem, self.problem.usage[process]
        here, start = int(self.place[process]), int(problem.start[process])
        for at, sign in ((here, -1), (machine, 1)):
            self._load[at] += sign * usage
            self.room[at] -= sign * np.where(problem.transient & (at == start), 0, usage)
            self._count[at] += sign
        difference = int(machine != start) - int(here != start)
        self.moved += difference
        self._moved_of[problem.service_of[process]] += difference
        if problem.limits.group_of[process] >= 0:
            self._moved_in_group[problem.limits.group_of[process]] += difference
        self.place[process] = machine
        self._skews.move(process, here, machine)
        both = np.array([here, machine], np.int32)
        self._machine_cost[both] = machine_costs(problem, self._share, self._load[both], self._count[both], both)
        self.cost += change
        self._save()

    def _save(self) -> None:
        if self.cost < self.best_cost:
            self.best_cost = self.cost
            self.best = self.place.copy()

    def _draw(self, bound: int) -> int:
        """A random number below a bound, by splitmix64."""
        self._random = (self._random + 0x9E3779B97F4A7C15) & _MASK
        z = self._random
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
        return ((z ^ (z >> 31)) >> 32) * bound >> 32


def _members(problem: ReassignmentProblem) -> list[NDArray[np.intp]]:
    """The processes of each service."""
    order = np.argsort(problem.service_of, kind="stable")
    sizes = np.bincount(problem.service_of, minlength=len(problem.services.limit))
    return np.split(order, np.cumsum(sizes)[:-1])


def _needed_by(problem: ReassignmentProblem) -> list[list[int]]:
    """For each service, the services that need it."""
    needed_by: list[list[int]] = [[] for _ in problem.services.needs]
    for service, needs in enumerate(problem.services.needs):
        for needed in needs:
            needed_by[needed].append(service)
    return needed_by
