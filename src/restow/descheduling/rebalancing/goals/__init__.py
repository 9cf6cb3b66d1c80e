"""What the planner may aim at: one file for each goal, and one line here or an entry point of another package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from restow.descheduling.rebalancing.goal import Goal, SuggestedGoal
from restow.descheduling.rebalancing.goals import balance, pack, room, spread
from restow.installed_packages import Extensible, unusable

#: Other packages register a ``Goal`` or ``SuggestedGoal`` under this entry point group, by the goal's name.
ENTRY_POINTS: Final = "restow.goals"

_BUILT_IN = (balance.GOAL, pack.GOAL, room.GOAL, spread.GOAL)


def goals() -> Mapping[str, Goal | SuggestedGoal]:
    """Every goal by name; looking one up raises UnusablePackageError where its package is at fault."""
    return Extensible(ENTRY_POINTS, {each.name: each for each in _BUILT_IN}, "a goal of restow itself", _of_a_package)


def _of_a_package(name: str, offered: object) -> Goal | SuggestedGoal:
    if not isinstance(offered, Goal | SuggestedGoal):
        raise unusable(ENTRY_POINTS, name, "is no Goal")
    if offered.name != name:
        raise unusable(ENTRY_POINTS, name, f'declares the goal "{offered.name}"; name the entry point like the goal')
    return offered
