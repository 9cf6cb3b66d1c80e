"""What an assignment costs and which rules it breaks, computed from nothing with NumPy.

The compiled core keeps costs up to date by their changes; this is what they must come to. Both compute a share as one
product of doubles, cut to an integer, so they agree to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from restow.optimizing.problem import Flags, Indices, Integers, ReassignmentProblem, Services, shares
from restow.optimizing.skews import uneven


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An assignment's cost by its terms, and how many processes are away from their start."""

    machines: int
    moves: int
    services: int
    moved: int

    @property
    def cost(self) -> int:
        """The sum of the terms."""
        return self.machines + self.moves + self.services


def loads(problem: ReassignmentProblem, place: Indices) -> Integers:
    """Return the load of each machine, [machine, resource], with what stays there."""
    load = problem.base.copy()
    np.add.at(load, place, problem.usage)
    return load


def held(problem: ReassignmentProblem, place: Indices) -> Integers:
    """Return the load with what moved processes still hold on their start: what must not pass the capacity."""
    load = loads(problem, place) + problem.reserved
    moved = place != problem.start
    np.add.at(load, problem.start[moved], np.where(problem.transient, problem.usage[moved], 0))
    return load


def overloaded(problem: ReassignmentProblem, place: Indices) -> Flags:
    """Return whether a machine has more of a resource than fits and a moved process brought some: [machine, resource]."""
    moved = place != problem.start
    arrived = np.zeros((problem.machines, problem.resources), np.bool_)
    np.logical_or.at(arrived, place[moved], problem.usage[moved] > 0)
    over: Flags = (held(problem, place) > problem.capacity) & arrived
    return over


def machine_costs(
    problem: ReassignmentProblem,
    share: NDArray[np.float64],
    load: Integers,
    count: Integers | int,
    machine: slice | Indices | int = slice(None),
) -> Integers:
    """Return what machines cost with these loads [..., resource] and numbers of processes; `machine` says which they are."""
    objective = problem.objective
    cost = np.zeros(load.shape[:-1], np.int64)
    if objective.excess is not None:
        cost += np.maximum(0, load - objective.excess.safety[machine]) @ objective.excess.weight
    if objective.deviation is not None:
        deviation = (load * share[machine]).astype(np.int64) - objective.deviation.target[machine]
        cost += (deviation * deviation) @ objective.deviation.weight
    for pair in objective.pairs:
        free = problem.capacity[machine] - load
        cost += pair.weight * np.maximum(0, pair.ratio * free[..., pair.first] - free[..., pair.second])
    if objective.price is not None:
        cost += np.where(count > 0, objective.price[machine], 0)
    return cost


def process_costs(problem: ReassignmentProblem, place: Indices) -> Integers:
    """Return for each process what its move costs, without its service's part."""
    moves = problem.objective.moves
    moved = place != problem.start
    cost = np.zeros(problem.processes, np.int64)
    if moves.process is not None:
        cost += moves.process
    if moves.distance is not None:
        cost += moves.distance_weight * moves.distance[problem.start, place].astype(np.int64)
    return np.where(moved, cost, 0)


def evaluate(problem: ReassignmentProblem, place: Indices) -> Evaluation:
    """Return what an assignment costs."""
    load = loads(problem, place)
    count = np.bincount(place, minlength=problem.machines)
    moved = place != problem.start
    of_service = np.bincount(problem.service_of[moved], minlength=1)
    return Evaluation(
        machines=int(machine_costs(problem, shares(problem), load, count).sum()),
        moves=int(process_costs(problem, place).sum()),
        services=problem.objective.moves.service_weight * int(of_service.max()),
        moved=int(moved.sum()),
    )


def violations(problem: ReassignmentProblem, place: Indices) -> list[str]:
    """Return a sentence for each rule that an assignment breaks.

    A machine that was overloaded at the start may stay so, as long as nothing came to it; one with too many processes of
    a service may keep them, and so may a location with too many more than another.
    """
    return [*_resources(problem, place), *_services(problem, place), *_skews(problem, place)]


def _resources(problem: ReassignmentProblem, place: Indices) -> list[str]:
    moved = place != problem.start
    over = np.argwhere(overloaded(problem, place))
    found = [f"machine {m}: resource {r} exceeds its capacity" for m, r in over]
    barred = np.flatnonzero(moved & ~problem.allowed[problem.class_of, place])
    found += [f"process {p}: machine {place[p]} is not allowed" for p in barred]
    if moved.sum() > problem.budget:
        found.append(f"{moved.sum()} processes moved, {problem.budget} may")
    return [*found, *_groups(problem, moved)]


def _groups(problem: ReassignmentProblem, moved: Flags) -> list[str]:
    limits = problem.limits
    group_of = limits.group_of[moved]
    counts = np.bincount(group_of[group_of >= 0], minlength=len(limits.most))
    over = np.flatnonzero(counts > limits.most)
    return [f"group {group}: {counts[group]} processes moved, {limits.most[group]} may" for group in over.tolist()]


def _skews(problem: ReassignmentProblem, place: Indices) -> list[str]:
    found = np.argwhere(uneven(problem, place)).tolist()
    return [f"skew {rule}: too many members in location {location}" for rule, location in found]


def staying(services: Services) -> dict[int, Indices]:
    """Return for each service with members that stay the machine of each."""
    rows = services.staying
    return {
        int(service): np.repeat(rows[rows[:, 0] == service, 1], rows[rows[:, 0] == service, 2])
        for service in np.unique(rows[:, 0])
    }


def _services(problem: ReassignmentProblem, place: Indices) -> list[str]:
    found = []
    services = problem.services
    before, after = _machines(problem, problem.start), _machines(problem, place)
    for service, machines in after.items():
        limit, spread = int(services.limit[service]), int(services.spread[service])
        if limit and _crowded(before[service], machines, limit):
            found.append(f"service {service}: more than {limit} processes on one machine")
        if spread > 1 and len(np.unique(problem.location[machines])) < spread:
            found.append(f"service {service}: in fewer than {spread} locations")
        near = set(problem.neighbourhood[machines].tolist())
        for needed in services.needs[service]:
            there = set(problem.neighbourhood[after[needed]].tolist()) if needed in after else set()
            if not near <= there:
                found.append(f"service {service}: in a neighbourhood without service {needed}")
    return found


def _machines(problem: ReassignmentProblem, place: Indices) -> dict[int, Indices]:
    """For each service the machine of each of its members, of those that stay too."""
    order = np.argsort(problem.service_of, kind="stable")
    services, begins = np.unique(problem.service_of[order], return_index=True)
    of_processes = dict(zip(services.tolist(), np.split(place[order], begins[1:]), strict=True))
    none, of_staying = np.zeros(0, np.int32), staying(problem.services)
    return {
        service: np.concatenate([of_processes.get(service, none), of_staying.get(service, none)])
        for service in of_processes.keys() | of_staying.keys()
    }


def _crowded(before: Indices, after: Indices, limit: int) -> bool:
    """Whether more members are on a machine than the limit and than at the start."""
    size = int(max(before.max(), after.max())) + 1
    most = np.maximum(np.bincount(before, minlength=size), limit)
    return bool((np.bincount(after, minlength=size) > most).any())
