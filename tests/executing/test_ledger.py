"""What became of each move, as it is written down."""

from __future__ import annotations

import pytest
from msgspec import structs

from executing.double import a_task
from restow.descheduling.plan import MadeProposal, Move
from restow.executing.history import AppliedMove, Ledger, apart
from restow.executing.task import (
    Blocked,
    Cleared,
    Dropped,
    Evicted,
    Failed,
    Landed,
    LandingMatch,
    Missing,
    Outcome,
    Requested,
    Settled,
    Unready,
    Unverified,
)
from restow.proving.replaying import RefusedMove

TASK = a_task("web-0", candidates=["b", "d"])
LANDED = (Evicted(TASK), Landed(TASK, "new", "b", LandingMatch.PREDICTED))


def entry_after(*outcomes: Outcome) -> tuple[AppliedMove, bool]:
    """The entry of one move, and whether what was promised has come about."""
    ledger = Ledger([TASK.move])
    for each in outcomes:
        ledger.note(each)
    (entry,) = ledger.entries
    return entry, ledger.kept


def test_a_replacement_that_is_ready_where_the_plan_wants_it_keeps_the_promise() -> None:
    entry, kept = entry_after(*LANDED, Settled(TASK))
    assert (entry.result, entry.landed, entry.replacement, entry.as_planned) == ("moved", "b", "new", True)
    assert (entry.code, entry.message, kept) == ("", "", True)


def test_a_replacement_on_another_good_node_keeps_the_promise_and_is_not_called_on_target() -> None:
    (target, _), (other, kept) = (
        entry_after(Evicted(TASK), Landed(TASK, "new", node, LandingMatch.PREDICTED), Settled(TASK))
        for node in ("b", "d")
    )
    assert (target.landing, other.landing) == ("target", "other")
    assert (other.as_planned, other.message, kept) == (True, "", True)


def test_where_the_plan_does_not_say_where_nothing_is_compared() -> None:
    entry, _ = entry_after(Evicted(TASK), Landed(TASK, "new", "c", LandingMatch.UNPREDICTED), Settled(TASK))
    assert (entry.landed, entry.landing, entry.as_planned) == ("c", None, True)


def test_a_pod_that_is_cleared_away_keeps_the_promise() -> None:
    entry, kept = entry_after(Evicted(TASK), Cleared(TASK))
    assert (entry.result, entry.landed, entry.as_planned, kept) == ("moved", None, None, True)


@pytest.mark.parametrize("match", [LandingMatch.ELSEWHERE, LandingMatch.IN_VAIN, LandingMatch.BACK, LandingMatch.VOID])
def test_a_landing_elsewhere_does_not(match: LandingMatch) -> None:
    entry, kept = entry_after(Evicted(TASK), Landed(TASK, "new", "c", match), Settled(TASK))
    assert (entry.result, entry.as_planned, entry.landing, kept) == ("moved", False, "missed", False)
    assert entry.message.startswith("it landed on c, ")


@pytest.mark.parametrize(
    ("outcomes", "result", "code"),
    [
        ((*LANDED, Unready(TASK, "why")), "evicted", "Unready"),
        ((Evicted(TASK), Missing(TASK, "why")), "evicted", "Missing"),
        ((Evicted(TASK), Unverified(TASK, "why")), "evicted", "Unverified"),
        ((Dropped(TASK, "why", "Gone"),), "dropped", "Gone"),
        ((Blocked(TASK, "why"),), "dropped", "Blocked"),
        ((Failed(TASK, "why"),), "dropped", "Failed"),
        ((Requested(TASK),), "dropped", "Requested"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_comes_to_another_end_says_why(outcomes: tuple[Outcome, ...], result: str, code: str) -> None:
    entry, kept = entry_after(*outcomes)
    assert (entry.result, entry.code, kept) == (result, code, False)
    assert entry.message


@pytest.mark.parametrize("code", ["Replanned", "Unsteered"])
def test_what_is_decided_anew_stays_open(code: str) -> None:
    ledger = Ledger([TASK.move])
    ledger.note(Dropped(TASK, "why", code))  # type: ignore[arg-type]
    assert ledger.open == (TASK.move,)
    assert not ledger.kept


def test_what_is_refused_in_the_beginning_was_not_promised_and_what_is_refused_later_was() -> None:
    refused = [RefusedMove(TASK.move, "Gone", "it is already gone")]
    before, later = Ledger([TASK.move]), Ledger([TASK.move])
    before.refuse(refused)
    later.drop(refused)
    assert [(each.result, each.code) for each in (*before.entries, *later.entries)] == [
        ("refused", "Gone"),
        ("dropped", "Gone"),
    ]
    assert (before.kept, later.kept) == (True, False)


def test_at_the_end_nothing_is_open_and_what_is_on_its_way_says_so() -> None:
    other, done = a_task("web-1", number=1), a_task("web-2", number=2)
    ledger = Ledger([TASK.move, other.move, done.move])
    for each in (Evicted(TASK), Evicted(done), Settled(done)):
        ledger.note(each)
    ledger.close("Stopped", "why")
    assert [(each.result, each.code) for each in ledger.entries] == [
        ("evicted", "Stopped"),
        ("dropped", "Stopped"),
        ("moved", ""),
    ]
    assert ledger.open == ()


def test_of_moves_that_are_made_together_one_that_is_dropped_keeps_the_others() -> None:
    def part(pod: str, purpose: str) -> Move:
        return structs.replace(a_task(pod).move, proposal=MadeProposal(purpose, 2, "certain", 1.0))

    first, second, other = part("web-1", "empty n1"), part("web-2", "empty n1"), part("web-3", "empty n2")
    ledger = Ledger([TASK.move, first, second, other])
    assert ledger.broken == {}
    ledger.drop([RefusedMove(first, "Gone", "why"), RefusedMove(TASK.move, "Gone", "why")])
    assert apart(second, ledger.broken) == "it is moved together with default/web-1 or not at all"
    assert apart(other, ledger.broken) is None
    assert apart(TASK.move, ledger.broken) is None
