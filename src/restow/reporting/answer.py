"""The answer in sentences, the same on the terminal and on the page: what moves, what that gains, why the rest stays."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from msgspec import UNSET

from restow.descheduling.plan import NOT_ENABLED
from restow.plain_text import printable
from restow.policies.codes import Certainty, Placement, RefusalCode, Stage
from restow.reporting.refusal_groups import group_refusals, refused_pods, staying_pods
from restow.reporting.sureness import how_sure
from restow.reporting.wording import counted, percent, resource_order, resource_title

if TYPE_CHECKING:
    from restow.descheduling.plan import NodeLoad, PlanDocument
    from restow.reporting.report import Report

UPSTREAM_MEANS: Final = "placement: upstream - restow does not predict where they land"
_FEW_MOVES: Final = 20
#: The smallest fall of the fullest node's usage, as a share of its capacity, that the headline mentions.
_NOTABLE: Final = 0.05
#: What holds a pod back, for one pod and for several, in the order of the output.
_MEANINGS: Final = {
    Stage.EVICTOR: ("is protected", "are protected"),
    Stage.LIMIT: ("is blocked by the policy's limits", "are blocked by the policy's limits"),
    Stage.BUDGET: ("has no disruption budget left", "have no disruption budget left"),
    Stage.PLACEMENT: ("has no acceptable placement", "have no acceptable placement"),
    "unknown": ("depends on data missing from the input", "depend on data missing from the input"),
}
#: The same in the order in which a pod meets them.
_DEPTHS: Final = tuple(_MEANINGS)


@dataclass(slots=True, frozen=True)
class Imbalance:
    """The resource that is spread least evenly: standard deviation of the nodes' load before and after."""

    resource: str
    before: float
    after: float


def predicts(plan: PlanDocument) -> bool:
    """Whether the plan says where pods land."""
    return plan.metadata.placement == Placement.PROVE


def predicts_load(plan: PlanDocument) -> bool:
    """Whether there is a load after the plan to compare with the one before."""
    return predicts(plan) and bool(plan.moves)


def headline(plan: PlanDocument) -> str:
    """Say how many moves, how sure their gain is, and how many targets are: what ``how_sure`` says."""
    if not plan.moves:
        return f"Nothing to {'move' if predicts(plan) else 'evict'}: {_why_nothing(plan)}"
    if not predicts(plan):
        return f"{counted(len(plan.moves), 'eviction')}; {UPSTREAM_MEANS}"
    return how_sure(plan.moves)


def certain_moves(plan: PlanDocument) -> int:
    """Count the moves whose gain is certain: they land well however the scheduler breaks its ties, or are steered."""
    return sum(each.certainty == Certainty.CERTAIN for each in plan.moves)


def _why_nothing(plan: PlanDocument) -> str:
    if any(each.code == RefusalCode.UNKNOWN for each in plan.refusals):
        unknown = sum(each == "unknown" for each in _last_obstacles(plan).values())
        candidates = counted(staying_pods(plan), "candidate")
        return f"{unknown:,} of {candidates} {_MEANINGS['unknown'][unknown > 1]}"
    if plan.refusals:
        return stays(plan)
    if len(plan.problems) == 1:
        return f"{printable(plan.problems[0].plugin)} could not run"
    if plan.problems:
        return f"{counted(len(plan.problems), 'strategy', 'strategies')} could not run"
    idle = dict.fromkeys(printable(each.plugin) for each in plan.notes if each.message.startswith(NOT_ENABLED))
    if idle:
        names = f"{' and '.join(idle)} {'is' if len(idle) == 1 else 'are'}"
        return f"no enabled strategy found a pod to move; {names} {NOT_ENABLED}"
    return "no strategy found a pod to move"


def stays(plan: PlanDocument) -> str:
    """Say how many candidates are refused: ``14 candidates refused``; with the refusals where a pod has several."""
    staying = staying_pods(plan)
    counts = f"{counted(staying, 'candidate')} refused"
    if len(plan.refusals) == staying:
        return counts
    return f"{counts} ({counted(len(plan.refusals), 'refusal')})"


def gain(report: Report) -> str | None:
    """Say what the plan takes off the nodes: ``3 moves take 31 points of CPU off node-2``; None if that is not much."""
    plan = report.plan
    if not predicts_load(plan):
        return None
    return _relief(report) if len(plan.moves) <= _FEW_MOVES else _lower_peak(plan)


def _relief(report: Report) -> str | None:
    node, resource, points = _largest_relief(report.loads)
    if not points:
        return None
    moves = len(report.plan.moves)
    verb = "takes" if moves == 1 else "take"
    return f"{counted(moves, 'move')} {verb} {counted(points, 'point')} of {resource_title(resource)} off {printable(node)}"


def _lower_peak(plan: PlanDocument) -> str | None:
    before, after = plan.summary.utilisation.before, plan.summary.utilisation.after
    shared = sorted(before.keys() & after.keys(), key=resource_order)
    resource = max(shared, key=lambda each: before[each].max - after[each].max, default=None)
    if resource is None or before[resource].max - after[resource].max < _NOTABLE:
        return None
    change = f"from {percent(before[resource].max)} to {percent(after[resource].max)}"
    return f"{counted(len(plan.moves), 'move')} lower {resource_title(resource)} on the fullest node {change}"


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


def obstacles(plan: PlanDocument) -> list[str]:
    """Say why candidates stay: the one reason, or how many pods each stage held back in the end."""
    groups = group_refusals(plan.refusals)
    if not groups:
        return []
    if len(groups) == 1:
        sentences = [f"The reason is always {groups[0].code}: {printable(groups[0].example)}."]
    else:
        held = Counter(_last_obstacles(plan).values())
        parts = [f"{held[each]:,} {_MEANINGS[each][held[each] > 1]}" for each in _MEANINGS if held[each]]
        *first, last = parts
        sentences = [f"Of them, {' and '.join([', '.join(first), last]) if first else last}."]
    limited = [each for each in plan.refusals if each.stage == Stage.LIMIT]
    if any(each.also_refused_by is UNSET for each in limited):
        sentences.append("Higher limits may allow more moves.")
    elif limited:
        sentences.append("Higher limits alone would not allow more moves.")
    return sentences


def _last_obstacles(plan: PlanDocument) -> dict[str, str]:
    """What stopped each staying pod where it came furthest."""
    moved = {str(each.pod) for each in plan.moves}
    found: dict[str, str] = {}
    for refusal in plan.refusals:
        last = refusal if refusal.also_refused_by is UNSET else refusal.also_refused_by
        obstacle = "unknown" if last.code == RefusalCode.UNKNOWN else last.stage
        for pod in map(str, refused_pods(refusal)):
            if pod not in moved and _DEPTHS.index(obstacle) >= _DEPTHS.index(found.get(pod, _DEPTHS[0])):
                found[pod] = obstacle
    return found


def imbalance(plan: PlanDocument) -> Imbalance | None:
    """Return the resource that is spread least evenly before the plan or after, or None when no load is known."""
    before, after = plan.summary.utilisation.before, plan.summary.utilisation.after
    shared = sorted(before.keys() & after.keys(), key=resource_order)
    if not shared:
        return None
    resource = max(shared, key=lambda each: max(before[each].spread, after[each].spread))
    return Imbalance(resource, before[resource].spread, after[resource].spread)


def problem_sentences(plan: PlanDocument) -> tuple[str, ...]:
    """Return one sentence for each strategy that could not run."""
    return tuple(printable(f"{each.plugin} could not run: {each.message}") for each in plan.problems)


def note_sentences(plan: PlanDocument) -> tuple[str, ...]:
    """Return one sentence for each strategy that says why it found nothing to do."""
    return tuple(printable(f"{each.plugin}: {each.message}") for each in plan.notes)
