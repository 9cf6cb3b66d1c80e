"""A simulation from what was asked for to what is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from restow.application.simulation_inputs import Asked, collect_garbage, named_in_errors, read_inputs, staging_of
from restow.application.simulation_record import recorded_inputs
from restow.cli.feedback import Terminal
from restow.cli.options import STDIN
from restow.cli.output import write, write_bytes
from restow.cli.simulation_progress import simulating
from restow.errors import InputError
from restow.reporting.json import indented_json
from restow.reporting.simulation_document import SimulationResult
from restow.reporting.simulation_result import RunNames, simulation_result
from restow.reporting.simulation_table import print_simulation
from restow.reporting.terminal import shown
from restow.simulating.scenarios.running import run_out
from restow.simulating.scenarios.scenario_run import begin

#: The exit status of a run that is not as expected.
FAILED_EXPECTATION: Final = 3


@dataclass(slots=True, frozen=True)
class SimulationRequest:
    """What was asked for, as it was written."""

    asked: Asked
    policy: str | None
    output: str
    verbose: int


def simulate(request: SimulationRequest) -> int:
    """Run a simulation and write what came of it; returns the exit status. InputError for whatever cannot be used."""
    feedback = Terminal()
    if (*request.asked.paths, request.policy).count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once")
    with feedback.timings.phase("load"), feedback.working("reading the scenario"):
        inputs = read_inputs(request.asked, feedback)
        staging = staging_of(inputs, request.policy, feedback)
    naming = named_in_errors(staging.policy or inputs.name)
    collect_garbage()
    with feedback.timings.phase("simulate"), simulating(inputs.ending.duration) as tick, naming:
        run = begin(staging.scenario, staging.config, inputs.now)
        finished = run_out(staging.scenario, run, inputs.ending, tick)
    names = RunNames(inputs.name, staging.policy, recorded_inputs(request.asked.paths, request.policy, inputs.folder))
    _write(simulation_result(staging.scenario, finished, names), request.output)
    if request.verbose:
        feedback.warn(feedback.timings.lines())
    return FAILED_EXPECTATION if any(each.outcome == "failed" for each in finished.verdicts) else 0


def _write(result: SimulationResult, output: str) -> None:
    if output == "json":
        write_bytes(indented_json(result) + b"\n")
    elif output == "html":
        from restow.reporting.html.simulation import form

        write_bytes(form(result))
    else:
        write(shown(lambda console: print_simulation(result, console)))
