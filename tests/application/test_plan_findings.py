"""What a pipeline may ask a plan not to have, counted and said."""

from __future__ import annotations

from collections import Counter

from msgspec import structs

from builders.plans import a_move, a_refusal, small_report
from restow.application.plan_findings import findings_of, unwanted
from restow.policies.codes import Certainty, PlanFinding, RefusalCode, Stage


def test_what_a_plan_has_is_counted() -> None:
    sure = a_move("shop/web-0", ("n1", "n2"))
    moves = (
        sure,
        structs.replace(sure, certainty=Certainty.LIKELY),
        structs.replace(sure, certainty=Certainty.POSSIBLE),
    )
    codes = (RefusalCode.CYCLE, RefusalCode.REVERSAL, RefusalCode.NO_FIT)
    refusals = tuple(a_refusal("shop/db-0", Stage.PLACEMENT, code, "so it is") for code in codes)
    plan = structs.replace(small_report().plan, moves=moves, refusals=refusals, problems=())
    found = findings_of(plan, 2)
    assert found == Counter(
        {PlanFinding.PROBLEMS: 2, PlanFinding.POSSIBLE: 1, PlanFinding.MOVES: 3, PlanFinding.LOOPS: 2}
    )
    assert list(unwanted(found, [PlanFinding.LOOPS, PlanFinding.POSSIBLE])) == [
        "--fail-on possible: the gain of 1 move is possible at most",
        "--fail-on loops: 2 moves were refused that would be undone",
    ]
    assert list(unwanted(found, [])) == []
    assert list(unwanted(Counter(), list(PlanFinding))) == []
