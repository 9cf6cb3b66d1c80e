"""Topology spread that is kept: as many pods as must move at least so that each domain of a constraint has its share."""

from __future__ import annotations

from restow.descheduling.rebalancing.goal import SuggestedGoal
from restow.descheduling.rebalancing.spreading import UNIT, spread_pods

GOAL = SuggestedGoal("spread", UNIT, spread_pods)
