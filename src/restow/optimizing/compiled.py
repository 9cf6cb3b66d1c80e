"""The search's inner loop in C, called through ctypes: `kernel.c`, compiled when restow is installed.

Where there was no compiler, `library()` returns None, and `vectorised.py` does the work. The two structures below have
the fields of those in `kernel.c`, in the same order; arrays belong to this side and stay where they are.
"""

from __future__ import annotations

import ctypes
from functools import cache
from itertools import accumulate, chain
from pathlib import Path
from typing import ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from restow.optimizing.evaluation import evaluate, held, loads, machine_costs
from restow.optimizing.logarithms import negative_logarithms
from restow.optimizing.problem import MOST_MEMBERS, MOST_RESOURCES, Flags, Indices, ReassignmentProblem, shares
from restow.optimizing.skews import away_counts, fewest_at_start, skew_counts

#: The VERSION of kernel.c.
_VERSION = 6
LIBRARY = Path(__file__).with_name("_kernel.so")
#: The kinds of tries, in the order of `enum kind`.
KINDS = ("shift", "swap", "return", "force", "empty")

#: The part of all processes and machines that are possible together from which on it is not worth asking first.
_MOSTLY = 0.8
#: How many bits of a byte are set.
_BITS = np.array([each.bit_count() for each in range(256)], np.uint8)

AnyArray: TypeAlias = NDArray[np.generic]
#: What counts of a table are.
Count = TypeVar("Count", np.uint16, np.int32)

_NUMBERS = (
    *("processes", "machines", "resources", "services", "locations", "neighbourhoods", "pairs", "budget"),
    *("service_weight", "distance_weight", "any_excess", "any_square", "any_price", "any_need"),
    *("any_skew", "skew_width"),
)
_ARRAYS = (
    *("usage", "safety", "excess_weight", "share", "target", "square_weight", "available"),
    *("pair_first", "pair_second", "pair_ratio", "pair_weight", "price", "move_cost", "distance", "transient", "start"),
    *("class_of", "allowed", "service_of", "limit", "spread", "location", "neighbourhood"),
    *("needs_at", "needs", "needed_at", "needed_by", "logarithm", "possible", "group_of", "group_most"),
    *("skews_at", "skews_of", "division", "skew_location", "skew_locations", "skew_most", "skew_from_zero"),
    "skew_at_start",
)
_COUNTERS = ("cost", "moved", "most_moved", "journal", "best_cost", "unsaved", "groups_over")
_STATE_ARRAYS = (
    *("place", "load", "room", "machine_cost", "count", "head", "next", "previous"),
    *("occupancy", "occupancy_row", "at_location", "location_row", "locations_used"),
    *("in_neighbourhood", "neighbourhood_row", "moved_of", "moved_histogram", "moved_list", "moved_position"),
    *("journal_process", "journal_from", "best", "unsaved_list", "unsaved_flag", "tries"),
    *("moved_in_group", "in_skew", "skew_away"),
)


class _ProblemFields(ctypes.Structure):
    _fields_: ClassVar = [
        *((name, ctypes.c_int64) for name in _NUMBERS),
        *((name, ctypes.c_void_p) for name in _ARRAYS),
    ]


class _StateFields(ctypes.Structure):
    _fields_: ClassVar = [
        *((name, ctypes.c_int64) for name in _COUNTERS),
        ("random", ctypes.c_uint64),
        *((name, ctypes.c_void_p) for name in _STATE_ARRAYS),
    ]


@cache
def library() -> ctypes.CDLL | None:
    """Return the compiled kernel, or None where it was not compiled, or from another version of kernel.c."""
    try:
        found = ctypes.CDLL(str(LIBRARY))
        found.layout.restype = ctypes.c_int64
    except (OSError, AttributeError):
        return None
    if found.layout() != _VERSION << 32 | ctypes.sizeof(_ProblemFields) << 16 | ctypes.sizeof(_StateFields):
        return None
    found.anneal.restype = ctypes.c_int64
    found.anneal.argtypes = [
        *[ctypes.c_void_p] * 2,
        ctypes.c_double,
        *(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64),
    ]
    found.find_possible.restype = None
    found.find_possible.argtypes = [ctypes.c_void_p] * 3
    found.empty_in_order.restype = ctypes.c_int64
    found.empty_in_order.argtypes = [*[ctypes.c_void_p] * 3, ctypes.c_int64]
    found.greedy.restype = ctypes.c_int64
    found.greedy.argtypes = [*[ctypes.c_void_p] * 2, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    found.mean_change.restype = ctypes.c_int64
    found.mean_change.argtypes = [*[ctypes.c_void_p] * 2, ctypes.c_int64]
    found.place.restype = ctypes.c_int64
    found.place.argtypes = [*[ctypes.c_void_p] * 2, ctypes.c_int32, ctypes.c_int32]
    return found


class CompiledState:
    """An assignment that the kernel changes, with every count that makes a change cheap."""

    def __init__(self, problem: ReassignmentProblem, seed: int, kernel: ctypes.CDLL) -> None:
        if problem.resources > MOST_RESOURCES:
            raise ValueError(f"{problem.resources} resources; at most {MOST_RESOURCES} are possible")
        self.problem = problem
        self._kernel = kernel
        self._kept: list[AnyArray] = []
        self._fields = self._problem_fields()
        self._state = self._state_fields(seed)
        self._choose_what_to_draw()

    @property
    def cost(self) -> int:
        """What the current assignment costs."""
        return int(self._state.cost)

    @property
    def best_cost(self) -> int:
        """What the best assignment so far costs."""
        return int(self._state.best_cost)

    @property
    def place(self) -> Indices:
        """The current assignment, [process]; changes with the next call."""
        return self._place

    @property
    def best(self) -> Indices:
        """A copy of the best assignment so far, [process]."""
        return self._best.copy()

    @property
    def tries(self) -> dict[str, tuple[int, int, int]]:
        """For each kind of try: how many, how many were made, how many were for the better."""
        rows = self._tries.reshape(-1, 3).tolist()
        return {kind: (tried, made, better) for kind, (tried, made, better) in zip(KINDS, rows, strict=True)}

    def anneal(self, temperature: float, steps: int, parts: NDArray[np.int64], sample: int) -> int:
        """Make tries at one temperature, a cost; return how many were made. See `anneal` in kernel.c."""
        made = self._kernel.anneal(
            *(ctypes.byref(self._fields), ctypes.byref(self._state)),
            *(temperature, steps, parts.ctypes.data, sample),
        )
        return int(made)

    def greedy(self, limit: int, sample: int) -> int:
        """Make the best shift until none is for the better or `limit` were made; return how many."""
        work = np.zeros(2 * self.problem.processes, np.int64)
        made = self._kernel.greedy(
            ctypes.byref(self._fields), ctypes.byref(self._state), limit, sample, work.ctypes.data
        )
        return int(made)

    def empty_in_order(self, machines: Indices) -> int:
        """Empty machines in this order, each if all of its processes find a place and the cost falls; return how many."""
        order = np.ascontiguousarray(machines, np.int32)
        made = self._kernel.empty_in_order(
            ctypes.byref(self._fields), ctypes.byref(self._state), order.ctypes.data, len(order)
        )
        return int(made)

    def mean_change(self, draws: int) -> int:
        """Return by how much a random possible shift changes the cost, on average."""
        return int(self._kernel.mean_change(ctypes.byref(self._fields), ctypes.byref(self._state), draws))

    def move_to(self, place: Indices) -> None:
        """Make an assignment the current one; one that keeps the rules."""
        for process in np.flatnonzero(self._place != place).tolist():
            self._kernel.place(ctypes.byref(self._fields), ctypes.byref(self._state), process, int(place[process]))

    def _problem_fields(self) -> _ProblemFields:
        problem, objective, services = self.problem, self.problem.objective, self.problem.services
        zeros = np.zeros((problem.machines, problem.resources), np.int64)
        weightless = np.zeros(problem.resources, np.int64)
        excess, deviation, moves, pairs = objective.excess, objective.deviation, objective.moves, objective.pairs
        needs_at, needs = _rows(services.needs)
        needed_by: list[list[int]] = [[] for _ in services.needs]
        for service, needed in enumerate(services.needs):
            for other in needed:
                needed_by[other].append(service)
        needed_at, needing = _rows(needed_by)
        price = np.zeros(problem.machines, np.int64) if objective.price is None else objective.price
        costs = np.zeros(problem.processes, np.int64) if moves.process is None else moves.process
        values: dict[str, int | AnyArray | None] = {
            "processes": problem.processes,
            "machines": problem.machines,
            "resources": problem.resources,
            "services": len(services.limit),
            "locations": int(problem.location.max()) + 1,
            "neighbourhoods": int(problem.neighbourhood.max()) + 1,
            "pairs": len(pairs),
            "budget": problem.budget,
            "service_weight": moves.service_weight,
            "distance_weight": moves.distance_weight,
            "any_excess": int(excess is not None),
            "any_square": int(deviation is not None),
            "any_price": int(objective.price is not None),
            "any_need": int(len(needs) > 0),
            "usage": problem.usage,
            "safety": zeros if excess is None else excess.safety,
            "excess_weight": weightless if excess is None else excess.weight,
            "share": shares(problem),
            "target": zeros if deviation is None else deviation.target,
            "square_weight": weightless if deviation is None else deviation.weight,
            "available": problem.capacity,
            "pair_first": np.array([pair.first for pair in pairs], np.int32),
            "pair_second": np.array([pair.second for pair in pairs], np.int32),
            "pair_ratio": np.array([pair.ratio for pair in pairs], np.int64),
            "pair_weight": np.array([pair.weight for pair in pairs], np.int64),
            "price": price,
            "move_cost": costs,
            "distance": moves.distance,
            "transient": problem.transient.astype(np.uint8),
            "start": problem.start,
            "class_of": problem.class_of,
            "allowed": problem.allowed.astype(np.uint8),
            "service_of": problem.service_of,
            "limit": services.limit,
            "spread": services.spread,
            "location": problem.location,
            "neighbourhood": problem.neighbourhood,
            "needs_at": needs_at,
            "needs": needs,
            "needed_at": needed_at,
            "needed_by": needing,
            "logarithm": negative_logarithms(),
            "possible": None,
            "group_of": problem.limits.group_of,
            "group_most": problem.limits.most,
            **_skew_fields(problem),
        }
        return _ProblemFields(**{name: self._field(value) for name, value in values.items()})

    def _state_fields(self, seed: int) -> _StateFields:
        problem, services = self.problem, self.problem.services
        start, processes = problem.start, problem.processes
        load = loads(problem, start)
        count = np.bincount(start, minlength=problem.machines)
        cost = machine_costs(problem, shares(problem), load, count)
        linked = {any_service for row, needed in enumerate(services.needs) if needed for any_service in (row, *needed)}
        each = np.arange(problem.machines, dtype=np.int32)
        occupancy_row, occupancy = _counts(problem, _may_be_crowded(problem), each, np.uint16)
        location_row, at_location = _counts(problem, services.spread > 1, problem.location, np.int32)
        is_linked = np.isin(np.arange(len(services.limit)), list(linked))
        neighbourhood_row, near = _counts(problem, is_linked, problem.neighbourhood, np.int32)
        head, following, previous = _lists(start, problem.machines)
        histogram = np.zeros(processes + 2, np.int32)
        histogram[0] = len(services.limit)
        self._place = start.copy()
        self._best = start.copy()
        self._tries = np.zeros(3 * len(KINDS), np.int64)
        total = evaluate(problem, start).cost
        values: dict[str, int | AnyArray] = {
            "cost": total,
            "best_cost": total,
            "random": seed & (1 << 64) - 1,
            "place": self._place,
            "load": load,
            "room": problem.capacity - held(problem, start),
            "machine_cost": cost,
            "count": count.astype(np.int32),
            "head": head,
            "next": following,
            "previous": previous,
            "occupancy": occupancy,
            "occupancy_row": occupancy_row,
            "at_location": at_location,
            "location_row": location_row,
            "locations_used": (at_location > 0).sum(axis=1, dtype=np.int32),
            "in_neighbourhood": near,
            "neighbourhood_row": neighbourhood_row,
            "moved_of": np.zeros(len(services.limit), np.int32),
            "moved_histogram": histogram,
            "moved_list": np.zeros(processes + 1, np.int32),
            "moved_position": np.zeros(processes, np.int32),
            "journal_process": np.zeros(processes + 64, np.int32),
            "journal_from": np.zeros(processes + 64, np.int32),
            "best": self._best,
            "unsaved_list": np.zeros(processes, np.int32),
            "unsaved_flag": np.zeros(processes, np.uint8),
            "tries": self._tries,
            "moved_in_group": np.zeros(max(len(problem.limits.most), 1), np.int32),
            "in_skew": skew_counts(problem, start),
            "skew_away": away_counts(problem, start),
        }
        return _StateFields(**{name: self._field(value) for name, value in values.items()})

    def find_possible(self) -> NDArray[np.uint8]:
        """Return a bit for each process and machine, [process, machine // 8], lowest first: 0 if it can never be there."""
        problem = self.problem
        free = (
            problem.capacity
            - np.where(problem.transient, loads(problem, problem.start), problem.base)
            - problem.reserved
        )
        possible = np.zeros((problem.processes, (problem.machines + 7) // 8), np.uint8)
        self._kernel.find_possible(ctypes.byref(self._fields), free.ctypes.data, possible.ctypes.data)
        return possible

    def _choose_what_to_draw(self) -> None:
        """Tell the kernel what is possible, unless nearly everything is."""
        problem = self.problem
        if problem.allowed.all() and not problem.transient.any():
            return
        possible = self.find_possible()
        found = int(_BITS[possible].sum())
        if found < _MOSTLY * problem.processes * problem.machines:
            self._fields.possible = self._field(possible)

    def _field(self, value: int | AnyArray | None) -> int | None:
        if value is None or isinstance(value, int):
            return value
        array = np.ascontiguousarray(value)
        self._kept.append(array)
        return array.ctypes.data


def _rows(lists: tuple[tuple[int, ...], ...] | list[list[int]]) -> tuple[Indices, Indices]:
    """Return lists of different lengths as one array, and where each begins in it."""
    ends = accumulate((len(row) for row in lists), initial=0)
    return np.fromiter(ends, np.int32), np.fromiter(chain.from_iterable(lists), np.int32)


def _skew_fields(problem: ReassignmentProblem) -> dict[str, int | AnyArray]:
    skews = problem.skews
    at, of = _rows(skews.of_service)
    return {
        "any_skew": int(len(skews) > 0),
        "skew_width": skews.staying.shape[1],
        "skews_at": at,
        "skews_of": of,
        "division": skews.division,
        "skew_location": skews.location,
        "skew_locations": skews.locations,
        "skew_most": skews.most,
        "skew_from_zero": skews.from_zero,
        "skew_at_start": fewest_at_start(problem),
    }


def _counts(
    problem: ReassignmentProblem, counted: Flags, column_of: Indices, kind: type[Count]
) -> tuple[Indices, NDArray[Count]]:
    """Return the row of each counted service, else -1, and how many of its members are in each column of machines."""
    row = np.where(counted, np.cumsum(counted) - 1, -1).astype(np.int32)
    counts = np.zeros((max(int(counted.sum()), 1), int(column_of.max()) + 1), kind)
    once = np.ones(problem.processes, np.int32)
    for service, machine, number in ((problem.service_of, problem.start, once), problem.services.staying.T):
        there = row[service] >= 0
        np.add.at(counts, (row[service[there]], column_of[machine[there]]), number[there].astype(kind))
    return row, counts


def _may_be_crowded(problem: ReassignmentProblem) -> Flags:
    """Which services have more members than their limit; the others cannot pass it and need no counts."""
    limit, (service, _, number) = problem.services.limit, problem.services.staying.T
    members = np.bincount(problem.service_of, minlength=len(limit))
    np.add.at(members, service, number)
    crowded: Flags = (limit > 0) & (members > limit)
    if (members[crowded] > MOST_MEMBERS).any():
        raise ValueError(f"a service with a limit has {members[crowded].max()} members; at most {MOST_MEMBERS} may be")
    return crowded


def _lists(place: Indices, machines: int) -> tuple[Indices, Indices, Indices]:
    """Return the processes of each machine as doubly linked lists: heads, next, previous; -1 where a list ends."""
    head = np.full(machines, -1, np.int32)
    following, previous = np.full(len(place), -1, np.int32), np.full(len(place), -1, np.int32)
    order = np.argsort(place, kind="stable")
    same = place[order[1:]] == place[order[:-1]]
    following[order[:-1][same]] = order[1:][same]
    previous[order[1:][same]] = order[:-1][same]
    first = np.ones(len(place), np.bool_)
    first[1:] = ~same
    head[place[order[first]]] = order[first]
    return head, following, previous
