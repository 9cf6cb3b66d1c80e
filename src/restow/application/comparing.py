"""Policies compared: each runs in the same futures of a scenario, wherever an engine makes them (``engines``).

Results are ordered by policy and seed, so where they were made, and in which order, makes no difference to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from restow.application.feedback import Feedback
from restow.application.files import check_read_once
from restow.application.kept_runs import KeptRun, begun, keep
from restow.application.simulating import (
    Inputs,
    ScenarioRequest,
    Staging,
    input_digests,
    named_in_errors,
    read_inputs,
    staging_of,
)
from restow.engines.registry import ChosenEngine, Run, RunFeedback, in_processes, make_all
from restow.engines.work import Tick
from restow.errors import InputError
from restow.kube.timestamps import SECOND, format_time
from restow.reporting.comparison_result import Comparison, ComparisonMetadata, comparison
from restow.simulating.scenarios.running import Future, RunEnding, future_of
from restow.version import __version__


@dataclass(slots=True, frozen=True)
class Runs:
    """Which runs to make: each policy with each seed."""

    stagings: tuple[Staging, ...]
    seeds: tuple[int, ...]
    ending: RunEnding
    #: Nanoseconds since the epoch.
    now: int

    def __len__(self) -> int:
        return len(self.stagings) * len(self.seeds)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What kept results say of each run: its policy and its seed."""
        return [{"policy": staging.policy, "seed": seed} for staging in self.stagings for seed in self.seeds]

    def make(self, number: int, tick: Tick) -> Future:
        """Make one of the runs: those of a policy follow each other. ``tick`` gets how much of its virtual time is over."""
        staging, seed = self.stagings[number // len(self.seeds)], self.seeds[number % len(self.seeds)]
        with named_in_errors(staging.policy):
            return future_of(replace(staging.scenario, seed=seed), staging.config, self.now, self.ending, tick)


#: How many futures there are by default.
FUTURES: Final = 20


@dataclass(slots=True, frozen=True)
class ComparisonRequest:
    """Which scenario to run, and the paths of the policies; the others are compared with the first."""

    scenario: ScenarioRequest
    policies: tuple[str, ...]
    #: How many futures each policy runs in.
    futures: int = FUTURES
    #: Where they run; the result is the same.
    engine: ChosenEngine = field(default_factory=partial(in_processes, None))
    #: A directory for the results of futures, as they come.
    results: str | None = None
    #: Whether that directory may have some already, which are not made again.
    resumes: bool = False


def compare(request: ComparisonRequest, feedback: Feedback) -> Comparison:
    """Run each policy in each future; InputError for anything in the request that cannot be used, ClientError of an engine."""
    _check(request)
    earlier = None if request.results is None else begun(request.results, resumes=request.resumes)
    scenario = request.scenario
    if earlier is not None and scenario.now is None:
        scenario = replace(scenario, now=earlier.begins)
    with feedback.timings.phase("load"), feedback.working("reading the scenario"):
        inputs = read_inputs(scenario, feedback)
        stagings = tuple(staging_of(inputs, each, feedback) for each in request.policies)
    first = inputs.scenario.seed
    runs = Runs(stagings, tuple(range(first, first + request.futures)), inputs.ending, inputs.now)
    run = None if request.results is None else _kept(request, request.results, earlier, inputs, runs)
    with feedback.timings.phase("simulate"), feedback.simulating(len(runs) * inputs.ending.duration) as tick:
        told = RunFeedback(tick, inputs.ending.duration, lambda sentence: feedback.warn([sentence]))
        found: list[Future] = make_all(runs, request.engine, told, Future, run)
    return _result(
        inputs, runs, [found[begin : begin + len(runs.seeds)] for begin in range(0, len(runs), len(runs.seeds))]
    )


def _kept(request: ComparisonRequest, directory: str, earlier: KeptRun | None, inputs: Inputs, runs: Runs) -> Run:
    """The run in the directory of results."""
    policies = [each.policy for each in runs.stagings]
    run = KeptRun(
        begins=format_time(inputs.now),
        seconds=inputs.ending.duration / SECOND,
        until_stable=inputs.ending.when_stable,
        policies=tuple(policies),
        seeds=runs.seeds,
        inputs=tuple(input_digests((*request.scenario.paths, *request.policies, *inputs.folder.read))),
        restow_version=__version__,
    )
    return keep(directory, run, earlier).part(runs.rows)


def _check(request: ComparisonRequest) -> None:
    if len(set(request.policies)) < max(len(request.policies), 2):
        raise InputError("--compare takes two policies or more, each once: --compare today.yaml proposed.yaml")
    if request.futures < 1:
        raise InputError("--seeds must be 1 or more")
    check_read_once((*request.scenario.paths, *request.policies))


def _result(inputs: Inputs, runs: Runs, found: Sequence[Sequence[Future]]) -> Comparison:
    metadata = ComparisonMetadata(
        scenario=inputs.name,
        description=inputs.scenario.description,
        begins=format_time(inputs.now),
        seconds=inputs.ending.duration / SECOND,
        until_stable=inputs.ending.when_stable,
        seeds=runs.seeds,
        restow_version=__version__,
    )
    policies = [(each.policy, _placement(each), futures) for each, futures in zip(runs.stagings, found, strict=True)]
    return comparison(metadata, policies)


def _placement(staging: Staging) -> str:
    return staging.scenario.descheduling.placement if staging.scenario.descheduling else ""
