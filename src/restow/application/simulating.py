"""A simulation from a request: read the scenario, its dumps and the policy, run it in virtual time, and sum it up.

The result records which files it was made of, with their digests, so that the same run can be made again (`replaying`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from restow.application.clusters import instant
from restow.application.feedback import Feedback
from restow.application.files import NamedFile, check_read_once, file_bytes, file_name
from restow.application.past_runs import beside_the_past, read_replay, replayed
from restow.application.policies import CheckedFiles, PolicyFile, check_files, read_policy_file
from restow.cluster.snapshot import ClusterStore
from restow.errors import InputError, problem_lines
from restow.installed_packages import UnusablePackageError
from restow.kube.duration import HOUR, MINUTE, SECOND
from restow.kube.manifests import Manifest
from restow.policies.fallbacks import Fallbacks
from restow.policies.load import load_document
from restow.proving.planning import placement_of
from restow.recordings.reading import is_recording, recorded_files
from restow.reporting.simulation_document import InputFile, SimulationInputs, SimulationResult
from restow.reporting.simulation_result import RunNames, simulation_result
from restow.simulating.replaying.replay import ReplayedSpan, without_evictions
from restow.simulating.scenarios.folder import Folder, read_object
from restow.simulating.scenarios.reading import API_VERSION, KIND, check_file, is_scenario, read_scenario
from restow.simulating.scenarios.running import RunEnding, ScenarioConfig, begin, config_of, run_out
from restow.simulating.scenarios.scenario import Descheduling, Scenario
from restow.sources.reading import STDIN, Sizes, input_files, read_manifests

_EVERY: Final = 5 * MINUTE
#: How long a run takes that waits for a stable cluster, unless something says how long it may.
_LONGEST: Final = 24 * HOUR
_NOTHING: Final = f"apiVersion: {API_VERSION}\nkind: {KIND}\n".encode()


@dataclass(slots=True, frozen=True)
class ScenarioRequest:
    """Which scenario to run, and for how long; as a user writes it."""

    #: A scenario, and dumps of what is there at the start.
    paths: tuple[str, ...]
    #: Nanoseconds; None: as the scenario says.
    duration: int | None = None
    #: Whether to end as soon as nothing changes any more.
    until_stable: bool = False
    now: str | None = None
    seed: int | None = None
    #: Of a recording, from when and to when it is replayed; None is as early, or as late, as there is.
    since: str | None = None
    until: str | None = None


@dataclass(slots=True, frozen=True)
class Inputs:
    """A scenario and everything else that a request names, except the policy."""

    #: With the seed that was asked for.
    scenario: Scenario
    #: What messages call it.
    name: str
    folder: Folder
    #: Whether it is a file: dumps alone are not.
    is_written: bool
    ending: RunEnding
    #: When it begins, in nanoseconds since the epoch.
    now: int
    #: The recording that happens again in it.
    replay: ReplayedSpan | None = None


@dataclass(slots=True, frozen=True)
class Staging:
    """A scenario with the policy that its descheduler has."""

    scenario: Scenario
    config: ScenarioConfig
    #: What the policy is called; empty if there is no descheduler.
    policy: str


def read_inputs(request: ScenarioRequest, feedback: Feedback) -> Inputs:
    """Read the scenario and the dumps, and warn of what is odd; InputError for anything that cannot be used."""
    if not request.paths:
        raise InputError("say what to simulate: -f scenario.yaml, or a dump of a cluster")
    named, dumps = _sorted_out(request.paths)
    folder = Folder(Path(named or "").parent)
    name = ", ".join(request.paths) if named is None else file_name(named)
    scenario = read_scenario(_NOTHING if named is None else file_bytes(named), name, folder)
    seed = scenario.seed if request.seed is None else request.seed
    scenario = replace(scenario, start=(*scenario.start, *_all_manifests(dumps)), seed=seed)
    replay = read_replay(request.paths, request.since, request.until)
    if replay is not None:
        _check_replayed(request)
        feedback.warn(problem_lines([f"left out of the replay: {each}" for each in replay.left_out]))
        scenario = replayed(scenario, replay)
    ending = _ending(request, scenario, name)
    feedback.warn(problem_lines([str(each) for each in scenario.findings if each.severity == "warning"]))
    return Inputs(scenario, name, folder, named is not None, ending, _begin(request, scenario), replay)


def _check_replayed(request: ScenarioRequest) -> None:
    """Raise InputError where an option moves a recording in time."""
    if request.now is not None:
        raise InputError("--now does not go with a recording, which has its own times; use --from and --to")


def staging_of(inputs: Inputs, policy: NamedFile | None, feedback: Feedback) -> Staging:
    """Return the scenario with the policy of a file in place of its own; a dump alone has a descheduler in any case.

    InputError where a file that is named cannot be used.
    """
    # A simulation shows what a descheduler would do, even with a policy that does nothing.
    file = read_policy_file(policy, Fallbacks(), load_document)
    feedback.warn(problem_lines(file.loaded.warnings))
    scenario = inputs.scenario
    if policy is not None or not (inputs.is_written or inputs.replay):
        scenario = replace(scenario, descheduling=_descheduling(scenario.descheduling, file))
    if inputs.replay is not None and scenario.descheduling is not None:
        scenario = replace(scenario, events=without_evictions(scenario.events))
    config = config_of(scenario, inputs.folder, file.loaded.policy)
    return Staging(scenario, config, _policy_name(scenario.descheduling, inputs.folder, file))


def _policy_name(written: Descheduling | None, folder: Folder, file: PolicyFile) -> str:
    if written is None:
        return ""
    return file.name if written.policy is None else folder.place(written.policy)


def _descheduling(written: Descheduling | None, file: PolicyFile) -> Descheduling:
    """A descheduler as the scenario has it, but with the policy of a file."""
    return Descheduling(
        policy=None,
        every=written.every if written else _EVERY,
        placement=written.placement if written else placement_of(None, file.loaded.policy),
    )


def _begin(request: ScenarioRequest, scenario: Scenario) -> int:
    """When the run begins: at a whole second, as objects and results have times."""
    begins = scenario.begins if request.now is None and scenario.begins is not None else instant(request.now)
    return begins // SECOND * SECOND


def _ending(request: ScenarioRequest, scenario: Scenario, name: str) -> RunEnding:
    duration = scenario.duration if request.duration is None else request.duration
    if duration is None and not request.until_stable:
        raise InputError(f"{name} does not say how long to simulate; use --for 24h or --until stable")
    if duration is not None and duration <= 0:
        raise InputError("--for must be more than 0")
    return RunEnding(_LONGEST if duration is None else duration, request.until_stable)


def _sorted_out(paths: tuple[str, ...]) -> tuple[str | None, dict[str, list[dict[str, object]]]]:
    """The path of the scenario, if there is one, and the objects of all other files; standard input is a scenario."""
    sizes, scenarios, dumps = Sizes(), [], {}
    for path in dict.fromkeys(paths):
        if is_recording(path):
            continue
        objects = [] if path == STDIN else read_manifests(path, sizes)
        if path == STDIN or (objects and is_scenario(objects[0])):
            scenarios.append(path)
        else:
            dumps[path] = objects
    if len(scenarios) > 1:
        raise InputError(f"{' and '.join(map(file_name, scenarios))} are scenarios; simulate one at a time")
    return (scenarios[0] if scenarios else None), dumps


def dumped_objects(paths: Iterable[str]) -> Iterator[Manifest]:
    """Yield the objects of dumps; InputError with everything that is wrong with a file."""
    sizes = Sizes()
    return _all_manifests({path: read_manifests(path, sizes) for path in dict.fromkeys(paths)})


def _all_manifests(dumps: Mapping[str, list[dict[str, object]]]) -> Iterator[Manifest]:
    for path, objects in dumps.items():
        yield from _manifests(path, objects)


def _manifests(path: str, objects: list[dict[str, object]]) -> Iterator[Manifest]:
    """The objects of a dump; InputError with everything that is wrong with them."""
    readable, problems = ClusterStore(), []
    for each in objects:
        try:
            yield read_object(each, readable).manifest
        except ValueError as error:
            problems.append(f"{path}: {error}")
    if problems:
        raise InputError(*problems)


@contextmanager
def named_in_errors(name: str) -> Iterator[None]:
    """Name the policy in what only the cluster can show to be wrong with it: a priority class that is not there."""
    try:
        yield
    except UnusablePackageError:
        raise
    except InputError as error:
        raise InputError(*(f"{name}: {each}" for each in error.sentences)) from error


def recorded_inputs(request: ScenarioRequest, policy: str | None, inputs: Inputs) -> SimulationInputs:
    """Return what a run that has begun was made of: what ``-f`` names, the policy's file, what the scenario names."""
    named = [*request.paths, *([] if policy is None else [policy]), *inputs.folder.read]
    return SimulationInputs(request.paths, policy, tuple(input_digests(named)), request.since, request.until)


def input_digests(paths: Iterable[str]) -> Iterator[InputFile]:
    """Yield each file that paths name, once, with its digest; no digest of what can be read only once."""
    for path in dict.fromkeys(name for each in paths for name in _files_of(each)):
        yield InputFile(path, _digest(path))


def _files_of(path: str) -> list[str]:
    return [str(each) for each in recorded_files(path)] if is_recording(path) else input_files([path])


def _digest(path: str) -> str:
    """The digest of a file; nothing of what can be read only once."""
    if path == STDIN or not Path(path).is_file():
        return ""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_unchanged(inputs: SimulationInputs, name: str) -> None:
    """Raise InputError with everything that is not as it was when the result of that name was made."""
    problems = [each for file in inputs.files for each in _problem(file, name)]
    if problems:
        raise InputError(*problems)


def _problem(file: InputFile, name: str) -> Iterator[str]:
    if not file.sha256:
        what = "standard input" if file.path == STDIN else file.path
        yield f"{name} was made from {what}, which cannot be read again; simulate from files to replay a run"
    elif not Path(file.path).is_file():
        yield f"{name} was made from {file.path}, which is not there; replay it in the folder in which it was simulated"
    elif _digest(file.path) != file.sha256:
        yield f"{file.path} has changed since {name} was made; simulate again, or bring the old file back"


@dataclass(slots=True, frozen=True)
class SimulationRequest:
    """Which scenario to run, and the policy where it is not the scenario's own."""

    scenario: ScenarioRequest
    policy: NamedFile | None = None


def simulate(request: SimulationRequest, feedback: Feedback) -> SimulationResult:
    """Run a simulation; InputError for anything in the request that cannot be used.

    Where an expectation of the scenario does not hold, the summary of the result counts it as failed.
    """
    paths = request.scenario.paths
    check_read_once((*paths, request.policy))
    with feedback.timings.phase("load"), feedback.working("reading the scenario"):
        inputs = read_inputs(request.scenario, feedback)
        staging = staging_of(inputs, request.policy, feedback)
    naming = named_in_errors(staging.policy or inputs.name)
    with feedback.timings.phase("simulate"), feedback.simulating(inputs.ending.duration) as tick, naming:
        run = begin(staging.scenario, staging.config, inputs.now)
        finished = run_out(staging.scenario, run, inputs.ending, tick)
    written = request.policy if isinstance(request.policy, str) else None
    names = RunNames(inputs.name, staging.policy, recorded_inputs(request.scenario, written, inputs))
    result = simulation_result(staging.scenario, finished, names)
    if inputs.replay is None:
        return result
    with feedback.timings.phase("compare"), feedback.working("comparing it with the past"):
        return beside_the_past(result, finished, inputs.replay)


def check_scenarios(paths: Sequence[str]) -> CheckedFiles:
    """Find what in scenarios cannot be used, or does not do what it says; InputError without files."""
    return check_files(paths, check_file, "scenario")
