"""Reads instances of the ROADEF/EURO challenge 2012 and writes assignments, in the challenge's formats.

An instance is whitespace-separated integers: resources, machines, services, processes, balance costs, weights. All cost
weights of the challenge become terms of the objective of `restow.optimizing`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from restow.optimizing.problem import BalancePair, Excess, Moves, Objective, ReassignmentProblem, Services, problem


@dataclass(frozen=True)
class Instance:
    """An instance as the challenge's file tells it, in its order and with its words."""

    transient: list[bool]
    load_weight: list[int]
    neighborhood: list[int]
    location: list[int]
    capacity: list[list[int]]
    safety_capacity: list[list[int]]
    machine_move: NDArray[np.int32]  # 25 million numbers in the largest instances: no list
    spread_min: list[int]
    dependencies: list[list[int]]
    service: list[int]
    requirement: list[list[int]]
    process_move: list[int]
    balance: list[tuple[int, int, int, int]]  # resources, target, weight
    process_weight: int
    service_weight: int
    machine_weight: int


class _Numbers:
    """The numbers of a file, taken from the front."""

    def __init__(self, text: str) -> None:
        self._numbers = np.fromstring(text, np.int64, sep=" ")
        self._next = 0

    def array(self, count: int) -> NDArray[np.int64]:
        taken = self._numbers[self._next : self._next + count]
        if len(taken) < count:
            raise ValueError("the file ends too early")
        self._next += count
        return taken

    def table(self, rows: int, columns: int) -> NDArray[np.int64]:
        return self.array(rows * columns).reshape(rows, columns)

    def one(self) -> int:
        return int(self.array(1)[0])

    def left(self) -> int:
        return len(self._numbers) - self._next


def read_instance(path: Path) -> Instance:
    """Read a model file."""
    numbers = _Numbers(path.read_text(encoding="ascii"))
    instance = _instance(numbers)
    if numbers.left():
        raise ValueError(f"{path}: more numbers than the model has")
    return instance


def _instance(numbers: _Numbers) -> Instance:
    resources = numbers.one()
    kinds = numbers.table(resources, 2)
    machine_count = numbers.one()
    machines = numbers.table(machine_count, 2 + 2 * resources + machine_count)
    spread_min, dependencies = [], []
    for _ in range(numbers.one()):
        spread_min.append(numbers.one())
        dependencies.append(numbers.array(numbers.one()).tolist())
    processes = numbers.table(numbers.one(), resources + 2)
    balance = [tuple(row) for row in numbers.table(numbers.one(), 4).tolist()]
    process_weight, service_weight, machine_weight = numbers.array(3).tolist()
    return Instance(
        transient=(kinds[:, 0] == 1).tolist(),
        load_weight=kinds[:, 1].tolist(),
        neighborhood=machines[:, 0].tolist(),
        location=machines[:, 1].tolist(),
        capacity=machines[:, 2 : 2 + resources].tolist(),
        safety_capacity=machines[:, 2 + resources : 2 + 2 * resources].tolist(),
        machine_move=machines[:, 2 + 2 * resources :].astype(np.int32),
        spread_min=spread_min,
        dependencies=dependencies,
        service=processes[:, 0].tolist(),
        requirement=processes[:, 1:-1].tolist(),
        process_move=processes[:, -1].tolist(),
        balance=balance,
        process_weight=process_weight,
        service_weight=service_weight,
        machine_weight=machine_weight,
    )


def read_assignment(path: Path) -> NDArray[np.int32]:
    """Read an assignment: the machine of each process."""
    return np.array(path.read_text(encoding="ascii").split(), np.int32)


def write_assignment(path: Path, place: NDArray[np.int32]) -> None:
    """Write an assignment as the challenge's checker reads it."""
    path.write_text(" ".join(map(str, place.tolist())) + "\n", encoding="ascii")


def problem_of(instance: Instance, start: NDArray[np.int32]) -> ReassignmentProblem:
    """Return an instance as a problem of the planner."""
    objective = Objective(
        excess=Excess(np.array(instance.safety_capacity, np.int64), np.array(instance.load_weight, np.int64)),
        pairs=tuple(BalancePair(*row) for row in instance.balance),
        moves=Moves(
            process=instance.process_weight * np.array(instance.process_move, np.int64),
            distance=instance.machine_move,
            distance_weight=instance.machine_weight,
            service_weight=instance.service_weight,
        ),
    )
    services = Services(
        limit=np.ones(len(instance.spread_min), np.int32),
        spread=np.array(instance.spread_min, np.int32),
        needs=tuple(map(tuple, instance.dependencies)),
    )
    return problem(
        np.array(instance.requirement, np.int64),
        np.array(instance.capacity, np.int64),
        start,
        objective,
        service_of=np.array(instance.service, np.int32),
        services=services,
        transient=np.array(instance.transient, np.bool_),
        location=np.array(instance.location, np.int32),
        neighbourhood=np.array(instance.neighborhood, np.int32),
    )
