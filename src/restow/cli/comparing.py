"""A comparison of policies, from what was asked for to what is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import restow
from restow.application.futures import Runs, cores, make_all
from restow.application.simulation_inputs import Asked, Inputs, Staging, read_inputs, staging_of
from restow.cli.feedback import Terminal
from restow.cli.options import STDIN
from restow.cli.output import write, write_bytes
from restow.cli.simulation_progress import simulating
from restow.errors import InputError
from restow.kube.timestamps import SECOND, format_time
from restow.reporting.comparison_document import Comparison, ComparisonMetadata
from restow.reporting.comparison_result import comparison
from restow.reporting.comparison_table import print_comparison
from restow.reporting.json import indented_json
from restow.reporting.terminal import shown
from restow.simulating.scenarios.futures import Future

#: How many futures there are unless somebody says.
FUTURES: Final = 20


@dataclass(slots=True, frozen=True)
class ComparisonRequest:
    """What was asked for, as it was written."""

    asked: Asked
    policies: tuple[str, ...]
    futures: int
    output: str
    verbose: int


def compare(request: ComparisonRequest, processes: int | None = None) -> int:
    """Run each policy in each future and write what came of them; InputError for whatever cannot be used.

    ``processes`` is how many run at a time (None: one for each core); the result is the same.
    """
    _check(request)
    feedback = Terminal()
    with feedback.timings.phase("load"), feedback.working("reading the scenario"):
        inputs = read_inputs(request.asked, feedback)
        stagings = tuple(staging_of(inputs, each, feedback) for each in request.policies)
    first = inputs.scenario.seed
    runs = Runs(stagings, tuple(range(first, first + request.futures)), inputs.ending, inputs.now)
    with feedback.timings.phase("simulate"), simulating(len(runs) * inputs.ending.duration) as tick:
        found = make_all(runs, processes or cores(), tick)
    _write(_result(inputs, runs, found), request.output)
    if request.verbose:
        feedback.warn(feedback.timings.lines())
    return 0


def _check(request: ComparisonRequest) -> None:
    if len(set(request.policies)) < max(len(request.policies), 2):
        raise InputError("--compare takes two policies or more, each once: --compare today.yaml proposed.yaml")
    if request.futures < 1:
        raise InputError("--seeds must be 1 or more")
    if (*request.asked.paths, *request.policies).count(STDIN) > 1:
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


def _write(result: Comparison, output: str) -> None:
    if output == "json":
        write_bytes(indented_json(result) + b"\n")
    elif output == "html":
        from restow.reporting.html.comparison import form

        write_bytes(form(result))
    else:
        write(shown(lambda console: print_comparison(result, console)))
