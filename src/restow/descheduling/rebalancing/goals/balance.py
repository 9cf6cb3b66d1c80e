"""Even nodes: the squared distance of each node's utilisation from the mean of all, for each resource."""

from __future__ import annotations

from math import sqrt
from typing import Any, Final

import numpy as np

from restow.descheduling.rebalancing.goal import Goal
from restow.descheduling.rebalancing.model import PlanningModel
from restow.optimizing.problem import WHOLE, Deviation, Objective

#: A percentage point squared, in the integers that squared deviations are computed with.
_SQUARED_POINT: Final = (WHOLE // 100) ** 2


def objective(model: PlanningModel, _args: Any) -> Objective:
    """Return the sum over nodes and resources; a node that has nothing of a resource counts as even."""
    built, columns = model.problem, list(model.columns.values())
    weight = np.zeros(built.resources, np.int64)
    weight[columns] = 1
    total = built.base.sum(axis=0) + built.usage.sum(axis=0)
    mean = total.astype(np.float64) * WHOLE / np.maximum(built.capacity.sum(axis=0), 1)
    target = np.where(built.capacity > 0, mean.astype(np.int64), 0)
    return Objective(deviation=Deviation(target, weight))


def value(model: PlanningModel, _args: Any, cost: int) -> float:
    """Return the standard deviation that a cost comes to, in percentage points, over all resources."""
    parts = max(len(model.nodes) * len(model.columns), 1)
    return 100 * sqrt(max(cost, 0) / parts) / WHOLE


GOAL = Goal("balance", "points of standard deviation", objective, value, gain=_SQUARED_POINT, default_gain=10.0)
