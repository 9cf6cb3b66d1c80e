"""What a plan's line about a goal says of plans that might be better."""

from __future__ import annotations

import pytest

from restow.descheduling.plan import GoalResult
from restow.reporting.answer import _goal


@pytest.mark.parametrize(
    ("after", "proofs", "said"),
    [
        (5.0, {"bound": 3.0}, "pack, 8 -> 5 nodes; no plan can be below 3"),
        (5.0, {"bound": 3.0, "fewest_moves": True}, "pack, 8 -> 5 nodes; no plan can be below 3; none that is as good has fewer moves"),
        (5.0, {"optimal": True, "fewest_moves": True}, "pack, 8 -> 5 nodes; no plan is better; none that is as good has fewer moves"),
        (8.0, {"optimal": True, "fewest_moves": True}, "pack, 8 -> 8 nodes; no plan is better"),
    ],
)  # fmt: skip
def test_what_is_proven_is_said(after: float, proofs: dict[str, object], said: str) -> None:
    assert _goal(GoalResult("pack", "nodes", 8.0, after, **proofs)) == said
