"""When expectations are met: exactly, against a check of every moment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.simulating.scenarios.expectations import Expectation, NodeCount, Statement
from restow.simulating.scenarios.judging import ExpectationProgress, Judgement, judged, passed, seen

STATEMENT = Statement(NodeCount())


def expectation(modality, *, after=0, until=None, hold=0):
    return Expectation("", modality, STATEMENT, after, until, hold)


def verdict(expected, changes, end):
    """What comes of changes by time, the way a run tells of them."""
    progress = ExpectationProgress()
    for time, holds in changes:
        progress = seen(expected, passed(expected, progress, time), time, holds=holds)
    return judged(expected, progress, end)


def moment_by_definition(expected, changes, end):
    """The first whole moment that counts: every change is at a whole moment, and so is everything else."""

    def holds(time):
        value = next(holds for at, holds in reversed(changes) if at <= time)
        return value != (expected.modality == "always")

    last = end if expected.until is None else min(expected.until, end)
    for time in range(expected.after + expected.hold, last + 1):
        during = range(time - expected.hold, time) if expected.hold else [time]
        if all(map(holds, during)):
            return time
    return None


@st.composite
def runs(draw):
    times = [0, *sorted(draw(st.sets(st.integers(1, 20), max_size=8)))]
    end = draw(st.integers(max(times), 24))
    return [(time, draw(st.booleans())) for time in times], end


@st.composite
def expectations(draw):
    modality = draw(st.sampled_from(["eventually", "always", "never"]))
    after = draw(st.integers(0, 26))
    until = draw(st.none() | st.integers(after, 28))
    return expectation(modality, after=after, until=until, hold=0 if modality == "always" else draw(st.integers(0, 6)))


@given(runs(), expectations())
def test_the_moment_is_the_first_at_which_the_statement_has_held_for_long_enough(run, expected):
    changes, end = run
    moment = moment_by_definition(expected, changes, end)
    found = verdict(expected, changes, end)

    wanted = expected.modality == "eventually"
    if moment is not None:
        assert found == Judgement("met" if wanted else "failed", moment)
    elif expected.after > end or (expected.until is not None and expected.until > end):
        assert found == Judgement("undecided", end)
    else:
        assert found == Judgement("failed" if wanted else "met", end if expected.until is None else expected.until)


@given(runs(), expectations(), st.data())
def test_an_observation_that_changes_nothing_changes_no_verdict(run, expected, data):
    changes, end = run
    extra = data.draw(st.sets(st.integers(0, end)))
    known = dict(changes)
    for time in sorted(extra - known.keys()):
        known[time] = known[max(at for at, _ in changes if at <= time)]
    assert verdict(expected, sorted(known.items()), end) == verdict(expected, changes, end)


@given(runs(), expectations())
def test_always_is_never_the_opposite(run, expected):
    changes, end = run
    never = expectation("never", after=expected.after, until=expected.until)
    always = expectation("always", after=expected.after, until=expected.until)
    opposite = [(time, not holds) for time, holds in changes]
    assert verdict(always, changes, end) == verdict(never, opposite, end)


HOLDS_10_TO_15 = [(0, False), (10, True), (15, False)]

CASES = [
    pytest.param(expectation("eventually"), Judgement("met", 10), id="eventually"),
    pytest.param(expectation("eventually", until=10), Judgement("met", 10), id="the-deadline-itself-counts"),
    pytest.param(expectation("eventually", until=9), Judgement("failed", 9), id="too-late-for-the-deadline"),
    pytest.param(expectation("eventually", after=12), Judgement("met", 12), id="it-held-already"),
    pytest.param(expectation("eventually", after=15), Judgement("failed", 30), id="it-ended-at-that-moment"),
    pytest.param(expectation("eventually", hold=5), Judgement("met", 15), id="for-exactly-as-long"),
    pytest.param(expectation("eventually", hold=6), Judgement("failed", 30), id="not-for-so-long"),
    pytest.param(expectation("eventually", after=11, hold=5), Judgement("failed", 30), id="too-short-since-after"),
    pytest.param(expectation("eventually", until=40, after=20), Judgement("undecided", 30), id="run-too-short"),
    pytest.param(expectation("never"), Judgement("failed", 10), id="never"),
    pytest.param(expectation("never", hold=6), Judgement("met", 30), id="never-for-so-long"),
    pytest.param(expectation("never", until=9), Judgement("met", 9), id="never-before"),
    pytest.param(expectation("never", after=15), Judgement("met", 30), id="never-after"),
    pytest.param(expectation("always"), Judgement("failed", 0), id="always"),
    pytest.param(expectation("always", after=10, until=14), Judgement("met", 14), id="always-within"),
    pytest.param(expectation("always", after=10, until=15), Judgement("failed", 15), id="always-until-included"),
    pytest.param(expectation("always", after=31), Judgement("undecided", 30), id="always-later-than-the-run"),
]


@pytest.mark.parametrize(("expected", "judgement"), CASES)
def test_a_statement_that_holds_from_10_to_15_in_a_run_of_30(expected, judgement):
    assert verdict(expected, HOLDS_10_TO_15, 30) == judgement


def test_a_verdict_that_fell_stays():
    never = expectation("never")
    progress = seen(never, ExpectationProgress(), 3, holds=True)
    for time, holds in ((4, False), (8, True)):
        progress = seen(never, passed(never, progress, time), time, holds=holds)
    assert judged(never, progress, 9) == Judgement("failed", 3)
