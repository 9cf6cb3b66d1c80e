"""Which landings a plan can take as its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from executing.double import Double, a_task, carry_out, endings
from restow.executing.outcomes import Landed, Match
from restow.executing.places import Places
from restow.executing.task import Task


def alike(pod: str, number: int, *candidates: str) -> Task:
    """A move whose replacement may change places with others."""
    return replace(a_task(pod, pod, number=number, candidates=candidates), interchangeable="small")


def landings(told: list[object]) -> list[tuple[str, Match, bool]]:
    return [(each.node, each.match, each.leads_astray) for each in told if isinstance(each, Landed)]


def test_replacements_alike_change_places() -> None:
    """The second place of the plan is taken first, and then the first one; nothing leads astray."""
    plan = [alike("web-0", 0, "b", "c"), alike("api-0", 1, "c")]
    told = carry_out(Double.of(plan, land=lambda pod: "c" if pod == "web-0" else "b"), plan)
    assert landings(told) == [("c", Match.PREDICTED, False), ("b", Match.PREDICTED, False)]
    assert set(endings(told).values()) == {"Settled"}


def test_a_node_takes_no_more_than_the_plan_has_places_there() -> None:
    """The one who finds its own place taken leads astray, for its node is fuller than anybody has proven."""
    plan = [alike("web-0", 0, "b", "c"), alike("api-0", 1, "c"), alike("db-0", 2, "b")]
    told = carry_out(Double.of(plan, land=lambda _: "c"), plan)
    assert [astray for *_, astray in landings(told)] == [False, True, True]


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (replace(alike("api-0", 1, "c"), interchangeable="large"), "pods of another kind"),
        (replace(alike("api-0", 1, "c"), interchangeable=None), "a pod that has its own place"),
    ],
    ids=["another kind", "its own place"],
)
def test_pods_that_are_not_alike_do_not_change_places(other: Task, why: str) -> None:
    assert not Places([alike("web-0", 0, "b", "c"), other]).take(alike("web-0", 0, "b", "c"), "c"), why


def test_nobody_takes_a_place_on_the_node_that_it_leaves_or_where_it_is_in_vain() -> None:
    leaving = alike("web-0", 0, "b")
    vain = replace(leaving, move=structs.replace(leaving.move, candidates=("b", "c"), in_vain=("c",)))
    places = Places([leaving, alike("api-0", 1, "a"), alike("db-0", 2, "c")])
    assert leaving.move.source == "a"
    assert not places.take(leaving, "a")
    assert not places.take(vain, "c")
    assert places.take(leaving, "c")


def test_a_move_of_its_own_keeps_to_its_target() -> None:
    plan = [a_task("web-0", candidates=["b", "c"]), a_task("api-0", "api", number=1)]
    places = Places(plan)
    assert [places.take(plan[0], node) for node in ("b", "c")] == [True, False]
    assert places.take(plan[1], "anywhere"), "the plan does not say where"
