"""Whether a run is as expected: its observations, in order, to a verdict for each expectation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from restow.simulating.scenarios.expectations import Expectation
from restow.simulating.scenarios.observations import Observation, ObservedCluster
from restow.simulating.scenarios.tallies import Tally, tally_of
from restow.simulating.scenarios.verdicts import ExpectationProgress, Outcome, judged, passed, seen


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


def verdicts(
    expectations: Iterable[Expectation], observations: Iterable[Observation], end: int
) -> tuple[ExpectationVerdict, ...]:
    """Return the verdict of each expectation on a whole run, which ended at ``end``."""
    judge = Judge(expectations)
    for observation in observations:
        judge.observe(observation)
    return judge.finish(end)


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
        return tuple(_verdict(case, end) for case in self._cases)


def _verdict(case: _Case, end: int) -> ExpectationVerdict:
    found = judged(case.expectation, case.progress, end)
    case.proceed(case.progress, last=True)
    return ExpectationVerdict(case.expectation, found.outcome, found.time, case.number, case.objects or ())
