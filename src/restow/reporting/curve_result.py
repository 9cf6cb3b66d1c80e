"""Moves against gain: the document of ``restow plan --goal NAME --curve -o json``.

Each point is a plan of its own, made and proven with that budget, and so is what ``--budget`` gives.
"""

from __future__ import annotations

from msgspec import Struct, field

from restow.descheduling.plan import API_VERSION


class CurveMetadata(Struct, frozen=True, rename="camel"):
    """What the curve is about."""

    cluster: str
    generated_at: str
    restow_version: str


class CurvePoint(Struct, frozen=True, rename="camel"):
    """One plan: its budget and its moves, the value of the goal after it, and the value that no plan with this budget can be below."""

    budget: int
    moves: int
    value: float
    bound: float | None
    optimal: bool


class GoalCurve(Struct, frozen=True, rename="camel"):
    """A goal's value for several budgets, ascending; the first point is the cluster as it is."""

    metadata: CurveMetadata
    goal: str
    unit: str
    points: tuple[CurvePoint, ...]
    api_version: str = field(default=API_VERSION)
    kind: str = "GoalCurve"

    def gains(self) -> list[float]:
        """What each move is worth on average from one point to the next, a number for each point but the first."""
        both = zip(self.points, self.points[1:], strict=False)
        return [(before.value - after.value) / max(after.moves - before.moves, 1) for before, after in both]
