"""Brings one process to a machine that has no room for it: the machine that the fewest others must leave for that.

A search finds such moves too, but on hundreds of machines it needs long for them; so it begins here. For each machine, as
many of its largest processes must leave at least as free what is lacking; machines where that is least are tried first,
until no other can need fewer. A process that leaves goes where it costs least, and of those places to where it fits most
closely, so that large room stays. Moves that make way for those moves are left to the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop

import numpy as np

from restow.optimizing.evaluation import held
from restow.optimizing.problem import Indices, Integers, ReassignmentProblem
from restow.optimizing.vectorised import NEVER, VectorisedState


def make_way(problem: ReassignmentProblem, process: int) -> Indices | None:
    """Return an assignment in which a process has left its start, with few moves of others; None if none is found."""
    best: Indices | None = None
    fewest = problem.processes + 1
    state = VectorisedState(problem, seed=1)
    for least, machine in _most_promising(problem, process):
        if least >= fewest:
            break
        if _clear(state, process, machine):
            moved = int((state.place != problem.start).sum()) - 1
            if moved < fewest:
                best, fewest = state.place.copy(), moved
        state.move_to(problem.start)
    return best


def _most_promising(problem: ReassignmentProblem, process: int) -> Iterator[tuple[int, int]]:
    """Machines where a process may be, with how many others must leave at least, the fewest first."""
    room = problem.capacity - held(problem, problem.start)
    may = problem.allowed[problem.class_of[process]].copy()
    may[problem.start[process]] = False
    machines = np.flatnonzero(may)
    heap = [(_must_leave(problem, process, machine, room[machine]), machine) for machine in machines.tolist()]
    heapify(heap)
    while heap and heap[0][0] <= problem.processes:
        yield heappop(heap)


def _must_leave(problem: ReassignmentProblem, process: int, machine: int, room: Integers) -> int:
    """How many processes must leave a machine at least; more than there are if that would not do."""
    lacking = np.where(problem.usage[process] > 0, problem.usage[process] - room, 0)
    there = problem.usage[problem.start == machine]
    least = 0
    for resource in np.flatnonzero(lacking > 0).tolist():
        freed = np.cumsum(-np.sort(-there[:, resource]))
        if not len(freed) or freed[-1] < lacking[resource]:
            return problem.processes + 1
        least = max(least, int(np.searchsorted(freed, lacking[resource])) + 1)
    return least


def _clear(state: VectorisedState, process: int, machine: int) -> bool:
    """Move others off a machine until a process can be there, and put it there; returns whether that worked."""
    stuck: set[int] = set()
    while state.changes(process)[machine] == NEVER:
        leaving = _most_in_the_way(state, process, machine, stuck)
        if leaving is None:
            return False
        target = _closest(state, leaving, machine)
        if target < 0:
            stuck.add(leaving)
        else:
            state.go(leaving, target)
    state.go(process, machine)
    return True


def _most_in_the_way(state: VectorisedState, process: int, machine: int, stuck: set[int]) -> int | None:
    """The process of a machine that frees most of what is lacking there, the smallest of several; None if none frees any."""
    usage = state.problem.usage
    lacking = np.maximum(np.where(usage[process] > 0, usage[process] - state.room[machine], 0), 0)
    there = [each for each in np.flatnonzero(state.place == machine).tolist() if each not in stuck and each != process]
    if not there or not lacking.any():
        return None
    frees = (np.minimum(usage[there], lacking) / np.maximum(lacking, 1)).sum(axis=1)
    size = (usage[there] / np.maximum(state.problem.capacity[machine], 1)).sum(axis=1)
    return there[int(np.lexsort((size, -frees))[0])] if frees.max() > 0 else None


def _closest(state: VectorisedState, process: int, leaving: int) -> int:
    """The cheapest machine for a process that leaves one, and of several the one where least room is left; -1 if none."""
    changes = state.changes(process)
    changes[leaving] = NEVER
    if changes.min() == NEVER:
        return -1
    cheapest = np.flatnonzero(changes == changes.min())
    left = state.room[cheapest] / np.maximum(state.problem.capacity[cheapest], 1)
    return int(cheapest[left.sum(axis=1).argmin()])
