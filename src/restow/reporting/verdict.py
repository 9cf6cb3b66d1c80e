"""One sentence about a plan: what it gains for what was wanted, how much of that it does, and what holds the rest.

A resource that gets less even is said first. What is gained in balance is said only where a strategy asked for it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from restow.plain_text import printable, some
from restow.reporting.answer import (
    balance,
    goal_sentence,
    headline,
    held_back,
    last_obstacles,
    less_even,
    levels,
    predicts,
    predicts_load,
)
from restow.reporting.strategies import strategy_shares
from restow.reporting.wording import counted, resource_title

if TYPE_CHECKING:
    from restow.descheduling.plan import NodeLoad, PlanDocument
    from restow.reporting.forms import Report

#: Up to here the node that gains most is worth naming.
_FEW_MOVES: Final = 20
_MOST_STRATEGIES: Final = 2


def verdict(report: Report) -> str:
    """Say it in one sentence without a full stop."""
    plan = report.plan
    if not plan.moves:
        return headline(plan)
    if not predicts(plan):
        return f"{counted(len(plan.moves), 'eviction')} as the Kubernetes Descheduler would make them"
    if plan.goals:
        return goal_sentence(plan.goals[0], len(plan.moves))
    return "; ".join([*_first(report), *_others(plan)])


def _first(report: Report) -> list[str]:
    """What gets worse; else what is gained, with the share that moves."""
    worse = less_even(report.plan)
    relief = "" if worse or not levels(report.plan) else _relief(report)
    if relief:
        return [relief]
    gained = worse or (balance(report.plan)[:1] if levels(report.plan) else [])
    share = _share(report.plan)
    return [f"{', '.join(gained)}: {share}" if gained else share]


def _share(plan: PlanDocument) -> str:
    """``27 of 62 candidates move for RemoveDuplicates``."""
    staying = len(last_obstacles(plan))
    moved = len({str(each.pod) for each in plan.moves})
    of = f"{moved:,} of {counted(moved + staying, 'candidate')}" if staying else counted(moved, "pod")
    names = [each.name for each in strategy_shares(plan) if each.moved]
    for_whom = (
        some([printable(each) for each in names], _MOST_STRATEGIES)
        if len(names) <= _MOST_STRATEGIES
        else f"{len(names)} strategies"
    )
    return f"{of} {'moves' if moved == 1 else 'move'} for {for_whom}"


def _others(plan: PlanDocument) -> list[str]:
    """What holds most of those that stay."""
    stopped = last_obstacles(plan)
    if not stopped:
        return []
    (obstacle, count), *_ = Counter(stopped.values()).most_common(1)
    _, _, what = held_back([obstacle] * 2)[0].partition(" ")
    who = "the others" if count == len(stopped) else "most others" if 2 * count > len(stopped) else f"{count:,} others"
    return [f"{who} {what}"]


def _relief(report: Report) -> str:
    """``3 moves take 31 points of CPU off node-2``; empty if there are many moves, or that is not much."""
    moves = len(report.plan.moves)
    if moves > _FEW_MOVES or not predicts_load(report.plan):
        return ""
    node, resource, points = _largest_relief(report.loads)
    verb = "takes" if moves == 1 else "take"
    sentence = f"{counted(moves, 'move')} {verb} {counted(points, 'point')} of {resource_title(resource)} off {printable(node)}"
    return sentence if points else ""


def _largest_relief(loads: tuple[NodeLoad, ...]) -> tuple[str, str, int]:
    """Return node, resource and percentage points of the largest fall in load; the first by name where several fall as much."""
    best = ("", "", 0)
    for load in loads:
        for resource in ("cpu", "memory"):
            allocatable, before, after = load.resources.get(resource, (0, 0, 0))
            points = round(100 * (before - after) / allocatable) if allocatable else 0
            if points > best[2]:
                best = (load.name, resource, points)
    return best
