"""Recordings among the inputs of a simulation, and a run beside the past that it is the simulation of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from restow.errors import InputError, OutOfRangeError
from restow.kube.duration import MILLISECOND, SECOND
from restow.kube.timestamps import format_time, parse_time
from restow.recordings.reading import is_recording, read_recording
from restow.reporting.past_result import with_past
from restow.reporting.simulation_document import SimulationResult
from restow.simulating.kubelets import KubeletSettings
from restow.simulating.replaying.as_it_was import recorded_run
from restow.simulating.replaying.replay import ReplayedSpan, replay_of
from restow.simulating.scenarios.running import Finished
from restow.simulating.scenarios.scenario import Scenario


def read_replay(paths: Iterable[str], since: str | None, until: str | None) -> ReplayedSpan | None:
    """Return the recording among the inputs, if there is one; InputError where there are several, or it cannot be used."""
    found = [each for each in dict.fromkeys(paths) if is_recording(each)]
    if len(found) > 1:
        raise InputError(f"{' and '.join(found)} are recordings; simulate one at a time")
    if not found:
        if since is not None or until is not None:
            raise InputError("--from and --to go with a recording: -f DIRECTORY, as restow record has written it")
        return None
    begin = None if since is None else milliseconds_of("--from", since)
    end = None if until is None else milliseconds_of("--to", until)
    span = read_recording(found[0], begin, end)
    try:
        return replay_of(span)
    except (ValueError, OutOfRangeError) as error:
        raise InputError(f"{found[0]}: {error}") from error


def milliseconds_of(option: str, text: str) -> int:
    """Return the time of an option, in milliseconds since the epoch; InputError where it is none."""
    try:
        return parse_time(text) // MILLISECOND
    except ValueError as error:
        raise InputError(f"{option}: {error}; write 2026-11-21T09:00:00Z") from error


def replayed(scenario: Scenario, replay: ReplayedSpan) -> Scenario:
    """Return a scenario in which a recording happens again; what the scenario says itself comes first."""
    return replace(
        scenario,
        description=scenario.description or f"recorded from {format_time(replay.begins)}",
        begins=replay.begins,
        duration=replay.duration if scenario.duration is None else scenario.duration,
        start=(*replay.start, *scenario.start),
        events=(*replay.events, *scenario.events),
        scheduler_minor=scenario.scheduler_minor or replay.span.server_minor,
        kubelets=replay.kubelets if scenario.kubelets == KubeletSettings() else scenario.kubelets,
    )


def beside_the_past(result: SimulationResult, finished: Finished, replay: ReplayedSpan) -> SimulationResult:
    """Return a result with what was recorded in the same time."""
    end = finished.begins + min(finished.duration, replay.duration)
    try:
        recorded = recorded_run(replay.span, replay.begins, max(end, replay.begins + SECOND))
    except (ValueError, OutOfRangeError) as error:
        raise InputError(f"the recording has an object that cannot be read: {error}") from error
    return with_past(result, replay, recorded, finished.record)
