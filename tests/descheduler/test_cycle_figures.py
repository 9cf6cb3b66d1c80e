from __future__ import annotations

from restow.descheduler.cycles import cycle_figures
from restow.descheduling.arbiter import Eviction, Record, RefusedSuggestion
from restow.descheduling.placement import Landing, PluginRef
from restow.descheduling.plan import ResourceLoad, Utilisation
from restow.policies.codes import PlacementConstraint

TURN = PluginRef("p", "PodLifeTime")
EVEN, UNEVEN = ResourceLoad(0.5, 0.5, 0.0), ResourceLoad(0.9, 0.5, 0.3)


def figures(evictions=(), refusals=()):
    return cycle_figures(
        Record(tuple(evictions), tuple(refusals), (), ()),
        Utilisation(before={"cpu": UNEVEN}, after={"cpu": EVEN}),
        result="done",
        ended=2.0,
        seconds=1.0,
        phases={"decide": 1.0},
    )


def test_moves_by_strategy_and_certainty():
    landings = [Landing(1, "certain"), Landing(1, "certain"), Landing(1, "possible"), Landing()]
    found = figures(
        Eviction(pod, 0, TURN, "", PlacementConstraint.ANYWHERE, landing) for pod, landing in enumerate(landings)
    )
    assert found.moves == {("p", "PodLifeTime", "certain"): 2, ("p", "PodLifeTime", "possible"): 1} | {
        ("p", "PodLifeTime", ""): 1
    }


def test_refusals_by_stage_and_code():
    reasons = [("placement", "Circle", "a"), ("placement", "Circle", "b"), ("limit", "PerNode", "c")]
    found = figures(refusals=(RefusedSuggestion(pod, 0, TURN, reason) for pod, reason in enumerate(reasons)))
    assert found.refusals == {("placement", "Circle"): 2, ("limit", "PerNode"): 1}


def test_imbalance():
    assert figures().imbalance == {"cpu": (0.3, 0.0)}
