"""A scenario that runs from its beginning to its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from restow.kube.duration import MINUTE
from restow.simulating.descheduler import AskedMove
from restow.simulating.scenarios.event_applier import FailedEvent
from restow.simulating.scenarios.judging import ExpectationVerdict
from restow.simulating.scenarios.recording import RunRecord
from restow.simulating.scenarios.scenario import Scenario
from restow.simulating.scenarios.scenario_run import ScenarioRun
from restow.simulating.scheduler import UnknownPlacement

#: Called now and then with how much of a run is over, in nanoseconds.
Tick = Callable[[int], None]

#: From one look at a run to the next.
_STEP: Final = MINUTE
#: For how long nothing changes in a stable cluster, and how many looks of the descheduler at it change nothing.
_CALM: Final = 10 * MINUTE
_CALM_LOOKS: Final = 2


@dataclass(slots=True, frozen=True)
class RunEnding:
    """When a run ends: after a time, in nanoseconds, or sooner where nothing changes any more."""

    duration: int
    when_stable: bool


@dataclass(slots=True, frozen=True)
class Finished:
    """A run that is over."""

    #: Nanoseconds since the epoch.
    begins: int
    #: Nanoseconds of virtual time.
    duration: int
    #: Whether nothing had changed for a while when it ended.
    is_stable: bool
    record: RunRecord
    verdicts: tuple[ExpectationVerdict, ...]
    failed_events: Sequence[FailedEvent]
    #: What the eviction API refused the descheduler.
    refusals: tuple[AskedMove, ...]
    #: The pods that a scheduler did not know a node for, the first first.
    unknown: tuple[UnknownPlacement, ...] = ()


def run_out(scenario: Scenario, run: ScenarioRun, ending: RunEnding, tick: Tick) -> Finished:
    """Run a scenario that has begun, to its end."""
    clock = run.simulation.clock
    begins = clock.now
    end = begins + ending.duration
    calm_from = begins + _last_entry(scenario)
    for now in advance(run, end):
        tick(now - begins)
        if ending.when_stable and _is_stable(scenario, run, begins, calm_from):
            break
    is_stable = _is_stable(scenario, run, begins, calm_from)
    verdicts = run.observer.finish()
    duration = clock.now - begins
    moves = run.descheduler.moves if run.descheduler else ()
    refusals = tuple(each for each in moves if not each.is_made)
    record = run.recorder.finish(duration)
    unknown = sorted(each for scheduler in run.actors.schedulers for each in scheduler.unknown.values())
    return Finished(begins, duration, is_stable, record, verdicts, run.applier.failed_events, refusals, tuple(unknown))


def advance(run: ScenarioRun, end: int) -> Iterator[int]:
    """Advance a run to its end, in nanoseconds since the epoch; yields the time now and then."""
    clock = run.simulation.clock
    try:
        while clock.now < end:
            clock.run(min(clock.now + _STEP, end))
            yield clock.now
    finally:
        run.end()


def _last_entry(scenario: Scenario) -> int:
    """When the last thing happens that the scenario itself brings."""
    arrivals = (time for each in scenario.arrivals for time in (each.at, each.departs or 0))
    return max([0, *(each.at for each in scenario.events), *arrivals])


def _is_stable(scenario: Scenario, run: ScenarioRun, begins: int, calm_from: int) -> bool:
    """Whether nothing has changed for long enough, and nothing is to come."""
    every = scenario.descheduling.every if scenario.descheduling else 0
    calm = max(_CALM, _CALM_LOOKS * every)
    is_told = run.observer.catch_up()
    return is_told and run.simulation.clock.now >= max(calm_from, begins + run.recorder.changed) + calm
