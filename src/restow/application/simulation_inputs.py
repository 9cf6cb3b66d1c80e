"""What a simulation needs, from files and flags: the scenario, its dumps, the policy, and when it ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from restow.application.clusters import instant
from restow.application.feedback import Feedback
from restow.application.named_files import NamedFile, file_bytes, file_name
from restow.application.policies import PolicyFile, read_policy_file
from restow.cluster.snapshot import ClusterStore
from restow.descheduling.planning import placement_of
from restow.errors import InputError, problem_lines
from restow.installed_packages import UnusablePackageError
from restow.kube.duration import HOUR, MINUTE, SECOND
from restow.kube.manifests import Manifest
from restow.policies.fallbacks import Fallbacks
from restow.policies.load import load_document
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.objects import read_object
from restow.simulating.scenarios.reading import API_VERSION, KIND, is_scenario, read_scenario
from restow.simulating.scenarios.running import RunEnding
from restow.simulating.scenarios.scenario import Descheduling, Scenario
from restow.simulating.scenarios.scenario_run import ScenarioConfig, config_of
from restow.sources.manifests import read_manifests
from restow.sources.reading import STDIN
from restow.sources.sizes import Sizes

_EVERY: Final = 5 * MINUTE
#: How long a run takes that waits for a stable cluster, unless something says how long it may.
_LONGEST: Final = 24 * HOUR
#: New objects after which garbage is collected. Python's own 700 cost a fifth of a simulation.
_GARBAGE: Final = 100_000
_NOTHING: Final = f"apiVersion: {API_VERSION}\nkind: {KIND}\n".encode()


def collect_garbage() -> None:
    """From now on give back what is not needed any more: a simulation makes and drops objects as long as it runs."""
    gc.set_threshold(_GARBAGE, 20, 100)
    gc.enable()


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
    start = (*scenario.start, *(each for path, objects in dumps.items() for each in _manifests(path, objects)))
    seed = scenario.seed if request.seed is None else request.seed
    ending = _ending(request, scenario, name)
    feedback.warn(problem_lines([str(each) for each in scenario.findings if each.severity == "warning"]))
    return Inputs(
        replace(scenario, start=start, seed=seed), name, folder, named is not None, ending, _begin(request, scenario)
    )


def staging_of(inputs: Inputs, policy: NamedFile | None, feedback: Feedback) -> Staging:
    """Return the scenario with the policy of a file in place of its own; a dump alone has a descheduler in any case.

    InputError where a file that is named cannot be used.
    """
    # A simulation shows what a descheduler would do, even with a policy that does nothing.
    file = read_policy_file(policy, Fallbacks(), load_document)
    feedback.warn(problem_lines(file.loaded.warnings))
    scenario = inputs.scenario
    if policy is not None or not inputs.is_written:
        scenario = replace(scenario, descheduling=_descheduling(scenario.descheduling, file))
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
        objects = [] if path == STDIN else read_manifests(path, sizes)
        if path == STDIN or (objects and is_scenario(objects[0])):
            scenarios.append(path)
        else:
            dumps[path] = objects
    if len(scenarios) > 1:
        raise InputError(f"{' and '.join(map(file_name, scenarios))} are scenarios; simulate one at a time")
    return (scenarios[0] if scenarios else None), dumps


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
