"""From observations to verdicts, with what was counted at the moment that decided."""

from __future__ import annotations

import pytest

from restow.simulating.scenarios.expectations import Expectation, PodCount, Statement
from restow.simulating.scenarios.judging import Judge
from restow.simulating.scenarios.observations import Observation, ObservedPod

READY = frozenset({"any", "ready"})


def a_seen_pod(name):
    return ObservedPod("shop", name, {}, "n1", READY)


def pods_at(time, come=(), go=()):
    return Observation(
        time, {("shop", name): None for name in go} | {("shop", name): a_seen_pod(name) for name in come}
    )


#: From 10 on two pods, from 20 on one, from 30 on three.
RUN = [pods_at(0), pods_at(10, come="ab"), pods_at(20, go="a"), pods_at(30, come="ac")]


def verdicts(expectations):
    """Those on the whole run, which ends at 40."""
    judge = Judge(expectations)
    for observation in RUN:
        judge.observe(observation)
    return judge.finish(40)


def verdict(modality, *, at_least=None, at_most=None, **when):
    expected = Expectation("", modality, Statement(PodCount("ready"), at_least, at_most), **when)
    (found,) = verdicts([expected])
    return found.outcome, found.time, found.number, found.objects


def test_what_was_counted_when_it_was_met():
    assert verdict("eventually", at_least=2) == ("met", 10, 2, ("shop/a", "shop/b"))


def test_what_was_counted_when_it_failed_is_from_then_and_not_from_the_end():
    assert verdict("always", at_least=2, after=10) == ("failed", 20, 1, ("shop/b",))


def test_what_was_counted_at_a_deadline_that_passed():
    assert verdict("eventually", at_least=3, until=25) == ("failed", 25, 1, ("shop/b",))


def test_what_was_counted_when_it_had_held_for_too_long():
    assert verdict("never", at_most=1, after=15, hold=10) == ("failed", 30, 1, ("shop/b",))


def test_what_was_counted_at_the_end_of_a_run_that_was_too_short():
    assert verdict("eventually", at_least=4, until=50) == ("undecided", 40, 3, ("shop/a", "shop/b", "shop/c"))


def test_expectations_are_judged_side_by_side():
    both = [Expectation("", each, Statement(PodCount(), 3)) for each in ("eventually", "always")]
    assert [each.outcome for each in verdicts(both)] == ["met", "failed"]


def test_observations_come_in_order():
    judge = Judge([])
    judge.observe(pods_at(1))
    with pytest.raises(ValueError, match="an observation of 1 after one of 1"):
        judge.observe(pods_at(1))
