"""Virtual time jumps from entry to entry, and what is due at once keeps its order."""

from __future__ import annotations

from restow.kube.timestamps import SECOND
from restow.simulating.agenda import Agenda


def test_what_is_due_at_once_happens_in_the_order_in_which_it_was_entered():
    """The time of an entry is the time while it happens; one that has passed is now."""
    agenda, seen = Agenda(now=10 * SECOND), []
    for name, time in (("late", 30), ("first", 20), ("second", 20), ("overdue", 5)):
        agenda.at(time * SECOND, lambda name=name: seen.append((name, agenda.now // SECOND)))
    agenda.run(40 * SECOND)
    assert seen == [("overdue", 10), ("first", 20), ("second", 20), ("late", 30)]
    assert agenda.now == 40 * SECOND
    assert agenda.text == "1970-01-01T00:00:40Z"


def test_what_comes_again_and_again_keeps_nothing_from_being_quiet():
    """It goes on to happen all the same."""
    agenda, beats = Agenda(now=0), []
    agenda.every(SECOND, lambda: beats.append(agenda.now))
    assert agenda.is_quiet
    agenda.after(3 * SECOND, lambda: None)
    assert not agenda.is_quiet
    assert agenda.settle(until=60 * SECOND)
    assert beats == [SECOND, 2 * SECOND]
    agenda.run(5 * SECOND)
    assert beats[-1] == 5 * SECOND


def test_a_time_that_comes_first_ends_the_waiting_for_quiet():
    """Whoever enters something new each time is never quiet."""
    agenda = Agenda(now=0)

    def again() -> None:
        agenda.after(SECOND, again)

    again()
    assert not agenda.settle(until=10 * SECOND)
    assert agenda.now == 10 * SECOND
