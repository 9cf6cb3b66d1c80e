"""Makes an assignment that has become old one that keeps all rules: what does not go any more stays where it starts.

Another cluster may have come about since a search: a process is gone, a machine is full or closed, fewer moves are
allowed. Moves that are not allowed are given up first. Then, as long as a machine has more than fits, the last process
that goes there stays, which may fill the machine that it would have left, and so on; the same for locations with too many. Each
round gives up a move, so it ends.
"""

from __future__ import annotations

import numpy as np

from restow.optimizing.evaluation import overloaded, violations
from restow.optimizing.problem import Flags, Indices, Integers, ReassignmentProblem
from restow.optimizing.skews import counted, fewest_at_start, skew_counts, uneven


def repaired(problem: ReassignmentProblem, wanted: Indices) -> Indices:
    """Return an assignment without violations that has as many moves of the wanted one as is easy to keep.

    `wanted` is the machine of each process, int32[process]; it may break any rule.
    """
    place = np.where(problem.allowed[problem.class_of, wanted], wanted, problem.start).astype(np.int32)
    _stay(problem, place, _beyond_limits(problem, place))
    while len(given_up := _given_up(problem, place)):
        _stay(problem, place, given_up)
    return problem.start.copy() if violations(problem, place) else place


def _stay(problem: ReassignmentProblem, place: Indices, processes: Integers) -> None:
    place[processes] = problem.start[processes]


def _beyond_limits(problem: ReassignmentProblem, place: Indices) -> Integers:
    """The moved processes that are more than their group's limit, or the budget, allows."""
    moved = np.flatnonzero(place != problem.start)
    group = problem.limits.group_of[moved]
    most = np.append(problem.limits.most, len(moved))[group]
    within = _rank(group) < most
    return np.concatenate([moved[~within], moved[within][problem.budget :]])


def _without_room(problem: ReassignmentProblem, place: Indices) -> Integers:
    """The last process that brought something of a resource to each machine that has too little of it."""
    moved = np.flatnonzero(place != problem.start)
    brings = np.any(overloaded(problem, place)[place[moved]] & (problem.usage[moved] > 0), axis=1)
    return _last_of_each(moved[brings], place.astype(np.int64))


def _crowding(problem: ReassignmentProblem, place: Indices) -> Integers:
    """The last process of each service that moved to a machine which has more of it than its limit and than at the start."""
    limit, service = problem.services.limit, problem.service_of.astype(np.int64)
    pair_of = service * problem.machines + place
    most = np.maximum(limit[service], _members(problem, problem.start)[pair_of])
    over = (limit[service] > 0) & (_members(problem, place)[pair_of] > most)
    return _last_of_each(np.flatnonzero(over & (place != problem.start)), pair_of)


def _given_up(problem: ReassignmentProblem, place: Indices) -> Integers:
    """The next moves to give up: those without room, or beyond a limit of machines or locations."""
    broken = _without_room(problem, place), _crowding(problem, place), _uneven(problem, place)
    return np.unique(np.concatenate(broken))


def _uneven(problem: ReassignmentProblem, place: Indices) -> Integers:
    """The last process that came to each location with too many, or moved within it, and that left each with too few for others."""
    if not len(problem.skews) or not (over := uneven(problem, place)).any():
        return np.zeros(0, np.int64)
    process, rule = counted(problem)
    division, width = problem.skews.division[rule], over.shape[1]
    old, new = (problem.skews.location[division, at[process]].astype(np.int64) for at in (problem.start, place))
    few: Flags = over.any(axis=1, keepdims=True) & (skew_counts(problem, place) < fewest_at_start(problem)[:, None])
    moved = (place != problem.start)[process] & over[rule, new]
    came = np.concatenate([np.flatnonzero(moved & (old == new)), np.flatnonzero(moved & (old != new))])
    left = np.flatnonzero((old != new) & few[rule, old])
    last = _last_of_each(came, rule * width + new), _last_of_each(left, rule * width + old)
    given_up: Integers = process[np.concatenate(last)].astype(np.int64)
    return given_up


def _members(problem: ReassignmentProblem, place: Indices) -> Integers:
    """The number of members of each service on each machine, of those that stay too: [service * machines + machine]."""
    machines, stays = problem.machines, problem.services.staying.astype(np.int64)
    pair_of = problem.service_of.astype(np.int64) * machines + place
    count = np.bincount(pair_of, minlength=len(problem.services.limit) * machines)
    np.add.at(count, stays[:, 0] * machines + stays[:, 1], stays[:, 2])
    return count


def _last_of_each(processes: Integers, key: Integers) -> Integers:
    """The last of the processes with each key."""
    backwards = processes[::-1]
    last: Integers = backwards[np.unique(key[backwards], return_index=True)[1]]
    return last


def _rank(group: Indices) -> Integers:
    """How many of the same group come before each."""
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], group[order])
    rank = np.empty(len(group), np.int64)
    rank[order] = np.arange(len(group)) - first
    return rank
