"""From the arguments of ``restow plan`` to its output: load, decide, report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from msgspec import structs

from restow.cli.missing_usage import missing_usage
from restow.cli.output import write
from restow.cli.plan_request import PlanContext, PlanRequest, plan_context
from restow.cli.policy_files import policy_view
from restow.cli.progress import Timings, working
from restow.cli.streams import warn
from restow.descheduling.cycle import Cycle
from restow.descheduling.node_utilization.queried import measured_usage
from restow.descheduling.planning import cycle_notes, idle_strategies, make_plan, node_loads
from restow.descheduling.registry import plugins
from restow.descheduling.steering import FOR_STEERING
from restow.descheduling.unmatched import unmatched
from restow.policies.codes import Placement, SteeringMode, SteeringSetting
from restow.policies.understood import decided_document
from restow.reporting.forms import form_named
from restow.reporting.report import Report

#: These forms tell the reader of the notes. Of any other it is not known whether it does, or who reads it.
_FOR_PEOPLE: Final = ("table", "wide", "html")
#: Their readers see stderr too.
_ON_A_TERMINAL: Final = ("table", "wide")

_HOW: Final = "--steering nominate; docs/how-to/steer.md has the objects to install"


@dataclass(slots=True, frozen=True)
class Request:
    """What was asked for, as it was written."""

    plan_request: PlanRequest
    #: The name of a form.
    output: str
    timings: bool
    verbosity: int


def answer(request: Request) -> int:
    """Make the plan and write it; InputError for whatever in the request cannot be used.

    Returns the exit status: 1 if a strategy could not run, so that nobody takes its silence for a balanced cluster.
    """
    write_as = form_named(request.output)
    clock = Timings()
    asked = plan_context(request.plan_request, clock)
    cycle = _decided(asked, clock)
    with clock.phase("report"), working("making the plan"):
        plan = make_plan(cycle, asked.now, asked.placement, asked.found.api_server)
        policy = asked.policy.loaded.policy
        idle = idle_strategies(policy, plugins())
        mistaken = unmatched(cycle.state.cluster, policy, cycle.labels)
        steering = request.plan_request.steering or policy.restow.steering
        plan = structs.replace(
            plan,
            notes=(*plan.notes, *mistaken, *idle),
            usage=measured_usage(cycle.state.cluster, policy),
            policy=decided_document(policy, placement=asked.placement, steering=steering),
            scheduler_configuration=asked.configuration.document,
        )
    warn([*plan.problems, *mistaken])
    usage = missing_usage(asked.found, policy, cycle)
    warn(usage)
    missing = asked.found.missing_warning(cycle.missing, "moves")
    warn(missing)
    origin = asked.found.origin
    if request.timings:
        plan = structs.replace(plan, metadata=structs.replace(plan.metadata, timings=clock.seconds))
        origin = f"{origin}, {clock.seconds['load']:.1f} s"
    notes = cycle_notes(cycle)
    if request.output not in _FOR_PEOPLE:
        warn(notes)
    elif request.plan_request.steering is None:
        notes = (*notes, *_steering_note(asked, cycle, clock))
    if request.verbosity:
        warn(clock.lines())
    if request.output not in _ON_A_TERMINAL:
        # Who is handed the document has not seen what was told beside it.
        notes = (*notes, *usage, *missing)
    write(write_as(Report(plan, partial(node_loads, cycle), origin, policy_view(asked.policy), notes)))
    return int(bool(plan.problems))


def _decided(asked: PlanContext, clock: Timings) -> Cycle:
    if asked.placement == Placement.PROVE:
        with clock.phase("prove"), working("deciding and proving"):
            return asked.decide()
    with clock.phase("decide"), working("deciding"):
        return asked.decide()


def _steering_note(asked: PlanContext, cycle: Cycle, clock: Timings) -> tuple[str, ...]:
    """How many moves steering would make, found by deciding once more; nothing where it would not make more."""
    if not _is_open(asked) or not _is_worth_asking(cycle):
        return ()
    with clock.phase("steering"), working("deciding once more, steered"):
        steered = len(replace(asked, steering=SteeringMode.NOMINATE).decide().record.evictions)
    made = len(cycle.record.evictions)
    if steered <= made:
        return ()
    return (f"Steering would make {steered:,} moves instead of {made:,}: {_HOW}",)


def _is_open(asked: PlanContext) -> bool:
    """Whether nothing is steered although the policy leaves that open."""
    wanted = asked.policy.loaded.policy.restow.steering
    return asked.placement == Placement.PROVE and asked.steering == SteeringMode.NONE and wanted == SteeringSetting.AUTO


def _is_worth_asking(cycle: Cycle) -> bool:
    """Whether a strategy that balances has been refused a move for what the scheduler would have done."""
    known = plugins()
    return any(
        refused.reason[1] in FOR_STEERING and "balance" in known[refused.ref.plugin].extension_points
        for refused in cycle.record.refusals
    )
