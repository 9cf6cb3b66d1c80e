"""Room for pods that wait: each of them is on a machine of its own that costs so much that any number of moves is cheaper."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from restow.descheduling.rebalancing.goal import Goal
from restow.descheduling.rebalancing.model import PlanningModel
from restow.optimizing.problem import Excess, Objective

#: What a pod costs that waits, and what a move costs.
_WAITING: Final = 1 << 44
_MOVE: Final = 1 << 20
#: More than any load.
_ANY: Final = 1 << 60


def objective(model: PlanningModel, _args: Any) -> Objective:
    """Return what waiting pods cost: they are the load, in pods, of the machines beyond those of nodes."""
    built = model.problem
    safety = np.full((built.machines, built.resources), _ANY, np.int64)
    safety[len(model.nodes) :, model.pods_column] = 0
    weight = np.zeros(built.resources, np.int64)
    weight[model.pods_column] = _WAITING
    return Objective(excess=Excess(safety, weight))


def value(_model: PlanningModel, _args: Any, cost: int) -> float:
    """Return how many pods wait."""
    return cost / _WAITING


GOAL = Goal("room", "pods without a place", objective, value, gain=_MOVE, default_gain=1.0, for_waiting=True)
