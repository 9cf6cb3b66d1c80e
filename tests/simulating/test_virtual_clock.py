"""Virtual time jumps from entry to entry, and what is due at once keeps its order."""

from __future__ import annotations

from restow.kube.timestamps import SECOND
from restow.simulating.virtual_time import VirtualClock


def test_what_is_due_at_once_happens_in_the_order_in_which_it_was_entered():
    """The time of an entry is the time while it happens; one that has passed is now."""
    clock, seen = VirtualClock(now=10 * SECOND), []
    for name, time in (("late", 30), ("first", 20), ("second", 20), ("overdue", 5)):
        clock.at(time * SECOND, lambda name=name: seen.append((name, clock.now // SECOND)))
    clock.run(40 * SECOND)
    assert seen == [("overdue", 10), ("first", 20), ("second", 20), ("late", 30)]
    assert clock.now == 40 * SECOND
    assert clock.text == "1970-01-01T00:00:40Z"


def test_what_comes_again_and_again_keeps_nothing_from_being_quiet():
    """It goes on to happen all the same."""
    clock, beats = VirtualClock(now=0), []
    clock.every(SECOND, lambda: beats.append(clock.now))
    assert clock.is_quiet
    clock.after(3 * SECOND, lambda: None)
    assert not clock.is_quiet
    assert clock.settle(until=60 * SECOND)
    assert beats == [SECOND, 2 * SECOND]
    clock.run(5 * SECOND)
    assert beats[-1] == 5 * SECOND


def test_a_time_that_comes_first_ends_the_waiting_for_quiet():
    """Whoever enters something new each time is never quiet."""
    clock = VirtualClock(now=0)

    def again() -> None:
        clock.after(SECOND, again)

    again()
    assert not clock.settle(until=10 * SECOND)
    assert clock.now == 10 * SECOND
