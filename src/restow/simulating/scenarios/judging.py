"""Whether a run is as expected: its observations, in order, to a verdict for each expectation.

A statement holds or not from one observation to the next. ``eventually`` and ``never`` wait for the same moment: the
first at which the statement has held for as long as it must, within the time that is looked at. To one this moment is
what it wants, to the other what must not be; ``always`` is ``never`` about the opposite. So everything comes down to
finding that moment, which ``seen`` and ``passed`` do, an observation at a time, without remembering earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from restow.simulating.scenarios.expectations import Expectation
from restow.simulating.scenarios.observations import Observation, ObservedCluster
from restow.simulating.scenarios.tallies import Tally, tally_of

#: undecided: the run ended too early.
Outcome = Literal["met", "failed", "undecided"]


@dataclass(slots=True, frozen=True)
class ExpectationProgress:
    """What is known of one expectation so far; times are nanoseconds since the start of the run."""

    #: Since when what is waited for has held; None while it does not.
    since: int | None = None
    #: The first moment at which it had held for long enough.
    moment: int | None = None


@dataclass(slots=True, frozen=True)
class Judgement:
    """The outcome of an expectation, and when it was decided."""

    outcome: Outcome
    time: int


def seen(expectation: Expectation, progress: ExpectationProgress, time: int, *, holds: bool) -> ExpectationProgress:
    """Return the progress where the statement holds, or does not, from ``time`` on."""
    awaited = holds != (expectation.modality == "always")
    since = (time if progress.since is None else progress.since) if awaited else None
    return _reached(expectation, replace(progress, since=since), time)


def passed(expectation: Expectation, progress: ExpectationProgress, time: int) -> ExpectationProgress:
    """Return the progress where nothing has changed until just before ``time``."""
    earliest = _earliest(expectation, progress)
    # A statement that has held for its whole time just before the change has held for it.
    inclusive = expectation.hold > 0
    if earliest is None or earliest > time or (earliest == time and not inclusive):
        return progress
    return _reached(expectation, progress, earliest)


def judged(expectation: Expectation, progress: ExpectationProgress, end: int) -> Judgement:
    """Return the outcome of a run that ended at ``end``, until when, and then, nothing has changed."""
    earliest = _earliest(expectation, progress)
    if earliest is not None and earliest <= end:
        progress = _reached(expectation, progress, earliest)
    until = end if expectation.until is None else expectation.until
    if progress.moment is not None:
        return Judgement("met" if expectation.modality == "eventually" else "failed", progress.moment)
    if until > end or expectation.after > end:
        return Judgement("undecided", end)
    return Judgement("failed" if expectation.modality == "eventually" else "met", until)


def _earliest(expectation: Expectation, progress: ExpectationProgress) -> int | None:
    """The moment that is reached if nothing changes any more."""
    if progress.since is None:
        return None
    return max(progress.since, expectation.after) + expectation.hold


def _reached(expectation: Expectation, progress: ExpectationProgress, time: int) -> ExpectationProgress:
    """The progress at a time, which is the moment if it is late enough, not too late, and the first one."""
    earliest = _earliest(expectation, progress)
    if progress.moment is not None or earliest is None or earliest > time:
        return progress
    if expectation.until is not None and earliest > expectation.until:
        return progress
    return replace(progress, moment=earliest)


@dataclass(slots=True, frozen=True)
class ExpectationVerdict:
    """The result of one expectation, when it was decided, and what was counted then."""

    expectation: Expectation
    outcome: Outcome
    #: Nanoseconds since the start of the run.
    time: int
    #: What was counted.
    number: float
    objects: tuple[str, ...]


@dataclass(slots=True)
class _Case:
    """An expectation, how far it is decided, and what was counted when it was."""

    expectation: Expectation
    tally: Tally
    progress: ExpectationProgress = field(default_factory=ExpectationProgress)
    number: float = 0
    objects: tuple[str, ...] | None = None

    def proceed(self, progress: ExpectationProgress, *, last: bool) -> None:
        """Update the progress; what counts is kept at the moment that decides, or the ``last`` that could."""
        self.progress = progress
        if self.objects is None and (last or progress.moment is not None):
            self.number, self.objects = self.tally.number, tuple(self.tally.objects())

    def finish(self, end: int) -> ExpectationVerdict:
        """Return the result in a run that ended at ``end``."""
        found = judged(self.expectation, self.progress, end)
        self.proceed(self.progress, last=True)
        return ExpectationVerdict(self.expectation, found.outcome, found.time, self.number, self.objects or ())


@dataclass(slots=True)
class Judge:
    """Follows a run as it goes, so that a long one need not be kept; times must grow from each observation to the next."""

    expectations: Iterable[Expectation]
    _cases: Sequence[_Case] = field(init=False)
    _view: ObservedCluster = field(default_factory=ObservedCluster)
    _time: int = -1

    def __post_init__(self) -> None:
        self._cases = [_Case(each, tally_of(each.statement.measure)) for each in self.expectations]

    def observe(self, observation: Observation) -> None:
        """Apply the changes of a moment; ValueError for one that is not later than the last."""
        time = observation.time
        if time <= self._time:
            raise ValueError(f"an observation of {time} after one of {self._time}")
        self._time = time
        for case in self._cases:
            until = case.expectation.until
            case.proceed(passed(case.expectation, case.progress, time), last=until is not None and until < time)
        touched = self._view.take(observation)
        for case in self._cases:
            case.tally.refresh(self._view, touched, observation)
            holds = case.expectation.statement.holds(case.tally.number)
            case.proceed(seen(case.expectation, case.progress, time, holds=holds), last=False)

    def finish(self, end: int) -> tuple[ExpectationVerdict, ...]:
        """Return the result of each expectation in a run that ended at ``end``."""
        return tuple(case.finish(end) for case in self._cases)
