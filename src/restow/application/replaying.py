"""The cluster as it was at a moment of a run, as a dump: the run is made again until then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Final

import msgspec
from msgspec import Struct

from restow.application.feedback import Feedback
from restow.application.files import file_name
from restow.application.simulating import Inputs, ScenarioRequest, Staging, check_unchanged, read_inputs, staging_of
from restow.errors import InputError
from restow.kube.timestamps import SECOND, format_time
from restow.recordings.reading import is_recording
from restow.reporting.simulation_document import MadeEviction, SimulationInputs, SimulationMetadata
from restow.reporting.simulation_result import made_eviction
from restow.reporting.simulation_wording import time_text
from restow.reporting.wording import counted
from restow.simulating.scenarios.running import ScenarioRun, advance, begin
from restow.simulating.virtual_cluster import dump
from restow.sources.reading import Sizes, read_text
from restow.version import __version__

_KIND: Final = "SimulationResult"


@dataclass(slots=True, frozen=True)
class ReplayRequest:
    """Which run to make again, and until when."""

    #: The path of a result.
    result: str
    #: Nanoseconds since the start of the run.
    at: int | None


@dataclass(slots=True, frozen=True)
class ReplayedCluster:
    """The cluster as it was at that moment."""

    #: The dump, in pieces.
    dump: Iterable[bytes]
    #: Sentences: what the dump holds, and how to ask what the descheduler decides then.
    advice: Sequence[str]


class _Headed(Struct, frozen=True):
    """What any document says of itself."""

    kind: str = ""


class _Recorded(Struct, frozen=True, rename="camel"):
    """Of the result of a run what says how to make it again, and whether it is the same."""

    metadata: SimulationMetadata
    inputs: SimulationInputs
    evictions: tuple[MadeEviction, ...]


def replay(request: ReplayRequest, feedback: Feedback) -> ReplayedCluster:
    """Make a run again, up to a moment; InputError where that is not the same run any more."""
    name = file_name(request.result)
    with feedback.timings.phase("load"), feedback.working("reading the scenario"):
        recorded = _recorded(request.result, name)
        at = _moment(request.at, recorded, name)
        check_unchanged(recorded.inputs, name)
        inputs, staging = _read(recorded, at, feedback)
    with feedback.timings.phase("simulate"), feedback.simulating(at) as tick:
        run = begin(staging.scenario, staging.config, inputs.now)
        # What happens at that moment has not happened yet.
        for now in advance(run, inputs.now + at - 1):
            tick(now - inputs.now)
    _check_same(run, recorded, at, name)
    return ReplayedCluster(dump(run.simulation.store), _advice(run, staging, recorded.inputs.policy, at))


def _recorded(path: str, name: str) -> _Recorded:
    text = read_text(path, Sizes())
    try:
        if msgspec.json.decode(text, type=_Headed).kind != _KIND:
            raise InputError(f"{name} is not what restow simulate -o json writes: its kind is not {_KIND}")
        return msgspec.json.decode(text, type=_Recorded)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"{name} is not what restow simulate -o json writes: {error}") from error


def _moment(at: int | None, recorded: _Recorded, name: str) -> int:
    seconds = recorded.metadata.seconds
    if at is None:
        raise InputError("--replay needs --at: a moment of the run, such as --at 3h")
    if not 0 <= at <= seconds * SECOND:
        raise InputError(f"--at must be from 0s to {time_text(seconds)}, the end of the run in {name}")
    return at


def _read(recorded: _Recorded, at: int, feedback: Feedback) -> tuple[Inputs, Staging]:
    metadata, made = recorded.metadata, recorded.inputs
    # A recording has its own times.
    now = None if any(map(is_recording, made.filenames)) else metadata.begins
    request = ScenarioRequest(made.filenames, max(at, 1), False, now, metadata.seed, made.since, made.until)
    inputs = read_inputs(request, feedback)
    return inputs, staging_of(inputs, made.policy, feedback)


def _check_same(run: ScenarioRun, recorded: _Recorded, at: int, name: str) -> None:
    """Raise InputError where other pods were evicted than in the recorded run: another restow decides otherwise."""
    run.observer.finish()
    now = _evicted(map(made_eviction, run.recorder.finish(at).evictions), at)
    if now != _evicted(recorded.evictions, at):
        versions = f"it was made by restow {recorded.metadata.restow_version}, and this is {__version__}"
        raise InputError(
            f"the run in {name} cannot be made again, other pods are evicted now: {versions}; simulate again"
        )


def _evicted(made: Iterable[MadeEviction], at: int) -> list[tuple[float, str, str, str]]:
    """What was evicted before a moment, when and by which descheduler; results have times in milliseconds."""
    limit = at / SECOND - 0.001
    return [(each.at, each.pod, each.by, each.node) for each in made if each.at < limit]


def _advice(run: ScenarioRun, staging: Staging, policy: str | None, at: int) -> list[str]:
    """What the dump is, and how to ask what the descheduler decided then."""
    store, scenario = run.simulation.store, staging.scenario
    size = f"{counted(len(store.list('Node')), 'node')}, {counted(len(store.list('Pod')), 'pod')}"
    told = f"the cluster at {time_text(at / SECOND)} of the run: {size}"
    if scenario.descheduling is None:
        return [told]
    bundled = policy is None and scenario.descheduling.policy is None
    flags = ["restow plan -f FILE", *([] if bundled else [f"--policy-config-file {quote(staging.policy)}"])]
    flags += [f"--placement {scenario.descheduling.placement}", f"--now {format_time(run.simulation.clock.now + 1)}"]
    return [told, f"what the descheduler decides then: {' '.join(flags)}"]
