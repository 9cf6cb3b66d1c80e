"""A simulation from a request: read the scenario, run it in virtual time, and sum it up."""

from __future__ import annotations

from dataclasses import dataclass

from restow.application.feedback import Feedback
from restow.application.named_files import NamedFile
from restow.application.simulation_inputs import ScenarioRequest, named_in_errors, read_inputs, staging_of
from restow.application.simulation_record import recorded_inputs
from restow.errors import InputError
from restow.reporting.simulation_document import SimulationResult
from restow.reporting.simulation_result import RunNames, simulation_result
from restow.simulating.scenarios.running import run_out
from restow.simulating.scenarios.scenario_run import begin
from restow.sources.reading import STDIN


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
    if (*paths, request.policy).count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once")
    with feedback.timings.phase("load"), feedback.working("reading the scenario"):
        inputs = read_inputs(request.scenario, feedback)
        staging = staging_of(inputs, request.policy, feedback)
    naming = named_in_errors(staging.policy or inputs.name)
    with feedback.timings.phase("simulate"), feedback.simulating(inputs.ending.duration) as tick, naming:
        run = begin(staging.scenario, staging.config, inputs.now)
        finished = run_out(staging.scenario, run, inputs.ending, tick)
    written = request.policy if isinstance(request.policy, str) else None
    names = RunNames(inputs.name, staging.policy, recorded_inputs(paths, written, inputs.folder))
    return simulation_result(staging.scenario, finished, names)
