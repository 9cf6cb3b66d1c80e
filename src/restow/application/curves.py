"""What more moves are worth: plans with several budgets, of one reading of the cluster.

Of several goals that are combined, the curve is that of the first.
"""

from __future__ import annotations

from typing import Final

from msgspec import structs

from restow.application.feedback import Collected, Feedback
from restow.application.goals import GoalRequest, policy_or_goal
from restow.application.planning import Planned, PlanRequest, make
from restow.errors import InputError
from restow.reporting.curve_result import CurveMetadata, CurvePoint, GoalCurve

#: The shares of all moves that are worth it for which a plan is made.
_SHARES: Final = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4)


def curve(request: PlanRequest, goal: GoalRequest, feedback: Feedback) -> GoalCurve:
    """Return the curve up to the goal's budget, or to all moves that are worth it; errors as ``planning.make``."""
    if goal.name is None:
        raise InputError("--curve shows what more moves are worth for a goal; add --goal, such as --goal balance")
    whole = make(structs.replace(request, policy=policy_or_goal(request.policy, goal)), feedback)
    if not whole.plan.goals:
        raise InputError("; ".join(map(str, whole.plan.problems)) or f"the plan says nothing of the goal {goal.name}")
    points = [_start(whole)]
    known = structs.replace(request, where=whole.cluster)
    budgets = _budgets(len(whole.plan.moves))
    for number, budget in enumerate(budgets, 1):
        with feedback.working(f"planning with a budget of {budget:,} moves, {number} of {len(budgets)}"):
            policy = policy_or_goal(None, structs.replace(goal, budget=budget))
            points.append(_point(make(structs.replace(known, policy=policy), Collected()), budget))
    if whole.plan.moves:
        points.append(_point(whole, len(whole.plan.moves)))
    result, metadata = whole.plan.goals[0], whole.plan.metadata
    about = CurveMetadata(whole.cluster.origin, metadata.generated_at, metadata.restow_version)
    return GoalCurve(about, result.goal, result.unit, tuple(points))


def _start(whole: Planned) -> CurvePoint:
    value = whole.plan.goals[0].before
    return CurvePoint(0, 0, value, value, optimal=True)


def _point(planned: Planned, budget: int) -> CurvePoint:
    result = planned.plan.goals[0]
    return CurvePoint(budget, len(planned.plan.moves), result.after, result.bound, result.optimal)


def _budgets(moves: int) -> list[int]:
    """Budgets below the number of all moves: each of them if they are few, else some that become denser below."""
    few = range(1, moves) if moves <= len(_SHARES) + 1 else [max(round(moves * share), 1) for share in _SHARES]
    return sorted({budget for budget in few if budget < moves})
