"""What a goal of the planner is: what an assignment costs in the terms of the search core, and what that means to people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from restow.descheduling.framework import Suggestions, View
from restow.descheduling.rebalancing.model import PlanningModel
from restow.optimizing.problem import Objective


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal. The functions get the model of a cluster and the arguments of Rebalance."""

    name: str
    #: What its value counts, for people: "points", "nodes".
    unit: str
    #: What an assignment costs, without anything that only guides the search. The least is the best.
    objective: Callable[[PlanningModel, Any], Objective]
    #: The value that a cost comes to.
    value: Callable[[PlanningModel, Any, int], float]
    #: The cost of one unit of ``minGainPerMove``.
    gain: int
    #: ``minGainPerMove`` where the arguments leave it out.
    default_gain: float
    #: The objective that the search gets, if another one leads to better answers.
    guided: Callable[[PlanningModel, Any], Objective] | None = None
    #: Whether nodes are emptied, so that the moves from one node are made together or not at all.
    empties: bool = False
    #: What must not become worse, at a cost that outweighs this goal's: the goals before it, if several are combined.
    guard: Callable[[PlanningModel, Any], Objective] | None = None
    #: Whether it is about pods that wait: the moves for one pod are made together or not at all.
    for_waiting: bool = False


@dataclass(frozen=True, slots=True)
class SuggestedGoal:
    """A goal that knows its moves by itself, without the search core. It reports its value to the view at the end."""

    name: str
    unit: str
    #: Suggests the moves, given the cluster and the arguments of Rebalance.
    suggest: Callable[[View, Any], Suggestions]
