"""Asks Meta's Rebalancer to balance a problem: ``PYTHON rebalancing_peer.py PROBLEM.npz PLACE.npz``.

PYTHON has the package `rebalancer` (1.0.4 needs Python 3.12) and NumPy, and nothing of restow: `rebalancing.py --peer`
runs this. It moves one task at a time, the best it finds (its single-greedy moves), and aims at the sum of squares.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rebalancer import ProblemSolver

#: How `BalanceSpec` counts: by squares. By name, 1.0.4 refuses it.
_SQUARES = 1


def solver(
    usage: NDArray[np.int64], capacity: NDArray[np.int64], start: NDArray[np.int32], moves: int
) -> ProblemSolver:
    """The problem in the words of Rebalancer; nodes are alike."""
    tasks_of: dict[str, list[str]] = {f"host{machine}": [] for machine in range(len(capacity))}
    for task, machine in enumerate(start.tolist()):
        tasks_of[f"host{machine}"].append(f"task{task}")
    made = ProblemSolver(service_name="bench", service_scope="bench")
    made.set_object_name("task").set_container_name("host").set_assignment(tasks_of)
    for resource in range(usage.shape[1]):
        name = f"resource{resource}"
        made.add_object_dimension(name, {f"task{task}": float(used) for task, used in enumerate(usage[:, resource])})
        made.add_container_dimension(name, {}, default_value=float(capacity[0, resource]))
        where = {"scope": "host", "dimension": name}
        made.add_constraint({"capacitySpec": {"name": f"{name}_capacity", **where}})
        made.add_goal({"balanceSpec": {"name": f"{name}_balance", "formula": _SQUARES, **where}})
    kinds = [{"singleGreedyMoveTypeSpec": {}}]
    made.add_solver({"localSearchSolverSpec": {"moveTypeList": kinds, "stopAfterMoves": moves, "solveTime": 120}})
    return made


def main(question: Path, answer: Path) -> None:
    """Write where each task is then, and how long that took."""
    asked = np.load(question)
    made = solver(asked["usage"], asked["capacity"], asked["start"], int(asked["moves"]))
    began = time.perf_counter()
    machine_of = made.solve()["assignment"]
    seconds = time.perf_counter() - began
    place = [int(machine_of[f"task{task}"].removeprefix("host")) for task in range(len(asked["start"]))]
    np.savez(answer, place=np.array(place, np.int32), seconds=seconds)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
