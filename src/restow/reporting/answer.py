"""The answer in sentences, the same on the terminal and on the page: what moves, what that gains, why the rest stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from restow.reporting.refusal_groups import group_refusals, staying_pods
from restow.reporting.wording import counted, percent, printable, resource_order, resource_title

if TYPE_CHECKING:
    from restow.descheduling.plan import NodeLoad, Plan
    from restow.reporting.report import Report

UPSTREAM_MEANS: Final = "placement: upstream - restow does not predict where they land"
_FEW_MOVES: Final = 20


@dataclass(slots=True, frozen=True)
class Imbalance:
    """The resource that is spread least evenly: standard deviation of the nodes' load before and after."""

    resource: str
    before: float
    after: float


def predicts(plan: Plan) -> bool:
    """Tell whether the plan says where pods land."""
    return plan.metadata.placement == "prove"


def predicts_load(plan: Plan) -> bool:
    """Tell whether there is a load after the plan to compare with the one before."""
    return predicts(plan) and bool(plan.moves)


def headline(plan: Plan) -> str:
    """Say how many moves, and how sure they are: ``3 moves, all certain``."""
    if not plan.moves:
        return f"Nothing to {'move' if predicts(plan) else 'evict'}: {_why_nothing(plan)}"
    if not predicts(plan):
        return f"{counted(len(plan.moves), 'eviction')}; {UPSTREAM_MEANS}"
    certain = certain_moves(plan)
    possible = sum(each.certainty == "possible" for each in plan.moves)
    moves = counted(len(plan.moves), "move")
    if certain == len(plan.moves):
        return f"{moves}, {'certain' if certain == 1 else 'all certain'}"
    if possible == len(plan.moves):
        return f"{moves}, {'possible' if possible == 1 else 'all possible'}"
    return f"{moves}: {certain:,} certain, {possible:,} possible"


def certain_moves(plan: Plan) -> int:
    """Count the moves that land as wanted however the scheduler breaks its ties."""
    return sum(each.certainty == "certain" for each in plan.moves)


def _why_nothing(plan: Plan) -> str:
    if plan.refusals:
        return stays(plan)
    if len(plan.problems) == 1:
        return f"{printable(plan.problems[0].plugin)} could not work"
    if plan.problems:
        return f"{counted(len(plan.problems), 'strategy', 'strategies')} could not work"
    return "no strategy found a pod that should move"


def stays(plan: Plan) -> str:
    """Say how many candidates stay: ``14 candidates stay``; with the refusals where a pod has several."""
    staying = staying_pods(plan)
    counts = f"{counted(staying, 'candidate')} {'stays' if staying == 1 else 'stay'}"
    if len(plan.refusals) == staying:
        return counts
    return f"{counts} ({counted(len(plan.refusals), 'refusal')})"


def gain(report: Report) -> str:
    """Say what the plan gains most: ``3 moves take 31 points of CPU off node-2``, or what many moves do to the fullest."""
    plan = report.plan
    if not predicts_load(plan):
        return headline(plan)
    return (_relief(report) if len(plan.moves) <= _FEW_MOVES else _lower_peak(plan)) or headline(plan)


def _relief(report: Report) -> str | None:
    node, resource, points = _largest_relief(report.loads)
    if not points:
        return None
    moves = len(report.plan.moves)
    verb = "takes" if moves == 1 else "take"
    return f"{counted(moves, 'move')} {verb} {counted(points, 'point')} of {resource_title(resource)} off {printable(node)}"


def _lower_peak(plan: Plan) -> str | None:
    before, after = plan.summary.utilisation.before, plan.summary.utilisation.after
    shared = sorted(before.keys() & after.keys(), key=resource_order)
    resource = max(shared, key=lambda each: before[each].max - after[each].max, default=None)
    if resource is None or round(100 * before[resource].max) <= round(100 * after[resource].max):
        return None
    change = f"from {percent(before[resource].max)} to {percent(after[resource].max)} of {resource_title(resource)}"
    return f"{counted(len(plan.moves), 'move')} bring the fullest node {change}"


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


def main_obstacle(plan: Plan) -> list[str]:
    """Say in a sentence why candidates stay: the most frequent reason; no sentence when none does."""
    groups = group_refusals(plan.refusals)
    if not groups:
        return []
    first = groups[0]
    share = "All" if len(groups) == 1 else f"{len(first.refusals):,} of {counted(len(plan.refusals), 'refusal')}"
    return [f"{share} for {first.code}: {printable(first.example)}."]


def imbalance(plan: Plan) -> Imbalance | None:
    """Return the least even resource before the plan, or None when no load is known."""
    before, after = plan.summary.utilisation.before, plan.summary.utilisation.after
    shared = sorted(before.keys() & after.keys(), key=resource_order)
    if not shared:
        return None
    resource = max(shared, key=lambda each: before[each].spread)
    return Imbalance(resource, before[resource].spread, after[resource].spread)


def problem_sentences(plan: Plan) -> tuple[str, ...]:
    """Return one sentence for each strategy that could not work."""
    return tuple(printable(f"{each.plugin} could not work: {each.message}") for each in plan.problems)


def note_sentences(plan: Plan) -> tuple[str, ...]:
    """Return one sentence for each strategy that says why it found nothing to do."""
    return tuple(printable(f"{each.plugin}: {each.message}") for each in plan.notes)
