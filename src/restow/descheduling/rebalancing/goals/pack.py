"""Fewer nodes in use: what they cost, one each unless prices are given.

Pods of DaemonSets and of the kubelet do not keep a node in use, a pod that must stay does. Most single moves empty no
node, so the search is also rewarded a little for full nodes, which says where to begin.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from restow.cluster.interning import IntArray
from restow.descheduling.rebalancing.goal import Goal
from restow.descheduling.rebalancing.model import PlanningModel
from restow.kube.labels import parse_selector
from restow.optimizing.problem import WHOLE, Deviation, Objective

#: What a node costs at a price of 1: a multiple of a thousandth, so that prices and gains have a large common divisor.
PRICE: Final = (1 << 44) // 1000 * 1000


def prices(model: PlanningModel, args: Any) -> IntArray:
    """Return what each machine costs, in units of ``PRICE`` / 1000: 0 for a node that ``free`` leaves out."""
    price = np.full(len(model.nodes), 1000, np.int64)
    for entry in args.prices:
        price[_matching(model, entry.nodes)] = round(entry.price * 1000)
    if args.free:
        price[~_matching(model, args.free)] = 0
    return price


def _matching(model: PlanningModel, selector: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    parsed = parse_selector(selector)
    return np.array([parsed.matches(each) for each in model.labels], dtype=bool)


def objective(model: PlanningModel, args: Any) -> Objective:
    """Return the price of the machines in use. One that a pod keeps in use costs the same for every assignment: nothing."""
    return Objective(price=np.where(model.kept, 0, prices(model, args)) * (PRICE // 1000))


def guided(model: PlanningModel, args: Any) -> Objective:
    """Return the price, and a reward for full machines: a full one gets a hundredth of a price of 1."""
    built, columns = model.problem, list(model.columns.values())
    weight = np.zeros(built.resources, np.int64)
    weight[columns] = -max(PRICE // (100 * WHOLE * WHOLE * max(len(columns), 1)), 1)
    full = Deviation(np.zeros((built.machines, built.resources), np.int64), weight)
    return replace(objective(model, args), deviation=full)


def value(model: PlanningModel, args: Any, cost: int) -> float:
    """Return how many nodes are in use, or what they cost."""
    return round(cost / PRICE + int(prices(model, args)[model.kept].sum()) / 1000, 3)


GOAL = Goal("pack", "nodes in use", objective, value, gain=PRICE, default_gain=0.02, guided=guided, empties=True)
