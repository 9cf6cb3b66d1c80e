"""Policies compared: each runs in the same futures of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import restow
from restow.application.feedback import Feedback
from restow.application.futures import Runs, cores, make_all
from restow.application.simulation_inputs import Inputs, ScenarioRequest, Staging, read_inputs, staging_of
from restow.errors import InputError
from restow.kube.timestamps import SECOND, format_time
from restow.reporting.comparison_document import Comparison, ComparisonMetadata
from restow.reporting.comparison_result import comparison
from restow.simulating.scenarios.futures import Future
from restow.sources.reading import STDIN

#: How many futures there are by default.
FUTURES: Final = 20


@dataclass(slots=True, frozen=True)
class ComparisonRequest:
    """Which scenario to run, and the paths of the policies; the others are compared with the first."""

    scenario: ScenarioRequest
    policies: tuple[str, ...]
    #: How many futures each policy runs in.
    futures: int = FUTURES


def compare(request: ComparisonRequest, feedback: Feedback, processes: int | None = None) -> Comparison:
    """Run each policy in each future; InputError for anything in the request that cannot be used.

    ``processes`` is how many run at a time (None: one for each core); the result is the same.
    """
    _check(request)
    with feedback.timings.phase("load"), feedback.working("reading the scenario"):
        inputs = read_inputs(request.scenario, feedback)
        stagings = tuple(staging_of(inputs, each, feedback) for each in request.policies)
    first = inputs.scenario.seed
    runs = Runs(stagings, tuple(range(first, first + request.futures)), inputs.ending, inputs.now)
    with feedback.timings.phase("simulate"), feedback.simulating(len(runs) * inputs.ending.duration) as tick:
        found = make_all(runs, processes or cores(), tick)
    return _result(inputs, runs, found)


def _check(request: ComparisonRequest) -> None:
    if len(set(request.policies)) < max(len(request.policies), 2):
        raise InputError("--compare takes two policies or more, each once: --compare today.yaml proposed.yaml")
    if request.futures < 1:
        raise InputError("--seeds must be 1 or more")
    if (*request.scenario.paths, *request.policies).count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once")


def _result(inputs: Inputs, runs: Runs, found: Sequence[Sequence[Future]]) -> Comparison:
    metadata = ComparisonMetadata(
        scenario=inputs.name,
        description=inputs.scenario.description,
        begins=format_time(inputs.now),
        seconds=inputs.ending.duration / SECOND,
        until_stable=inputs.ending.when_stable,
        seeds=runs.seeds,
        restow_version=restow.__version__,
    )
    policies = [(each.policy, _placement(each), futures) for each, futures in zip(runs.stagings, found, strict=True)]
    return comparison(metadata, policies)


def _placement(staging: Staging) -> str:
    return staging.scenario.descheduling.placement if staging.scenario.descheduling else ""
