"""Plans that are carried out behind a fence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from descheduler.applied import Applied, a_town
from descheduler.fences import Fences
from descheduler.town import Town
from restow.descheduling.plan import Fenced
from restow.executing.task import Landed, Task

pytestmark = pytest.mark.usefixtures("without_threads")


def behind_a_fence(town: Town, **features: Any) -> tuple[Applied, Fences]:
    fences = Fences(town.asked, **features)
    return Applied(town, {"steering": "fence"}, planned="fence", missing=None, choice=fences.choice()), fences


def test_a_plan_that_counts_on_a_fence_is_carried_out_behind_it() -> None:
    applied, fences = behind_a_fence(a_town("web"))
    promise = applied.promise()
    assert promise.plan.fence == Fenced(("n0",), "NoSchedule")
    assert promise.notes[0].startswith(
        "The plan counts on a fence: 1 of 3 nodes carry the taint restow.dev/fence:NoSch"
    )
    assert fences.done == []
    applied.carry_out()
    assert fences.done[0] == ("n0 NoSchedule", 0)
    assert applied.results() == {"web-1": "moved", "web-2": "moved"}


def test_a_node_of_the_fence_that_is_gone_is_not_fenced() -> None:
    applied, fences = behind_a_fence(a_town("web"))
    fence = Fenced(("n0", "n9"), "NoSchedule")
    order = applied.application.order
    applied.application.order = replace(order, plan=structs.replace(order.plan, fence=fence))
    applied.carry_out()
    assert fences.done[0] == ("n0 NoSchedule", 0)


def test_where_nodes_may_not_be_fenced_the_promise_says_why_and_is_made_without() -> None:
    applied = Applied(a_town(), {"steering": "fence"}, planned="fence", missing="no rights here")
    promise = applied.promise()
    assert (promise.unsteered, promise.plan.fence, promise.notes) == ("no rights here", None, ())


def test_where_the_fence_cannot_be_set_after_all_only_what_lands_by_itself_is_made() -> None:
    applied, fences = behind_a_fence(a_town("web"), problem="n0 cannot be fenced: no")
    applied.carry_out()
    assert fences.done == [("n0 NoSchedule", 0), ("lift", 0)]
    assert applied.application.ledger.open == ()
    assert "moved" in applied.results().values()


def test_a_fence_that_somebody_takes_away_is_set_again_for_what_is_left() -> None:
    applied, fences = behind_a_fence(a_town("web"))
    broken = iter([False])

    def breaks(_: Task) -> None:
        fences.is_whole = next(broken, True)

    applied.town.on_ask = breaks
    applied.carry_out()
    assert [what for what, _ in fences.done] == ["n0 NoSchedule"] * 2
    assert applied.results() == {"web-1": "moved", "web-2": "moved"}


def test_a_stop_lifts_the_fence_at_once() -> None:
    applied, fences = behind_a_fence(a_town("web", ready_after=100.0))
    applied.on_outcome = lambda outcome: applied.application.stop() if isinstance(outcome, Landed) else None  # type: ignore[assignment, func-returns-value]
    applied.carry_out()
    assert ("stop", 1) in fences.done


def test_after_an_interrupt_while_nodes_are_fenced_nothing_is_evicted() -> None:
    applied, fences = behind_a_fence(a_town("web"))
    fences.on_set = applied.application.interrupt
    applied.carry_out()
    assert applied.results() == {"web-1": "dropped", "web-2": "dropped"}
    assert applied.town.asked == []


def test_behind_a_fence_the_next_replacement_may_land_where_the_plan_had_the_one_before() -> None:
    """The first one lands on another of its candidates, which the plan has for the second one."""
    applied, _ = behind_a_fence(a_town("web"))
    first, second = applied.application.order.plan.moves
    assert (set(first.candidates), second.candidates) == ({"n1", "n2"}, tuple({"n1", "n2"} - {first.target}))
    applied.town.land = lambda task: str(second.target if task.move.pod == first.pod else first.target)
    applied.carry_out()
    assert applied.results() == {"web-1": "moved", "web-2": "moved"}
    assert applied.application.ledger.kept
