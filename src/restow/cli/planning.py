"""From the arguments of ``restow plan`` to its output: load, decide, report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec import structs

from restow.cli.inputs import Where, check_inputs, instant, read_cluster
from restow.cli.options import Output
from restow.cli.output import write_plan
from restow.cli.policy_files import PolicyFile, policy_view, read_policy_file
from restow.cli.progress import working
from restow.cli.scheduler_config import read_scheduler_config
from restow.cli.streams import tell
from restow.cli.timings import Timings
from restow.descheduling.cycle import Cycle, run_cycle
from restow.descheduling.plan import Placement
from restow.descheduling.planning import cycle_notes, make_plan, node_loads
from restow.descheduling.proving import prove_cycle
from restow.descheduling.registry import strategies
from restow.errors import InputError
from restow.policies.fallbacks import Fallbacks
from restow.policies.policy import Policy, collects_kubernetes_metrics
from restow.reporting.report import Report

#: These forms hold the plan alone; the others tell the reader of the notes themselves.
_FOR_PROGRAMS = ("json", "yaml")


@dataclass(slots=True, frozen=True)
class Request:
    """What was asked for, as it was written."""

    where: Where
    policy: str | None
    fallbacks: Fallbacks
    output: Output
    placement: Placement | None
    configuration: str | None
    now: str | None
    timings: bool
    verbosity: int


def answer(request: Request) -> None:
    """Make the plan and write it; InputError for whatever in the request cannot be used."""
    check_inputs(request.where, request.policy, request.configuration)
    clock, now = Timings(), instant(request.now)
    policy = read_policy_file(request.policy, request.fallbacks)
    placement = placement_of(request.placement, policy)
    tell(policy.loaded.warnings)
    configuration = read_scheduler_config(request.configuration)
    tell(configuration.warnings)
    with clock.phase("load"):
        found = read_cluster(request.where, usage=collects_kubernetes_metrics(policy.loaded.policy))
    cluster = found.cluster
    tell(found.notes)
    if placement == "prove":
        with clock.phase("prove"), working("deciding and proving"):
            cycle = decided(
                policy, lambda rules: prove_cycle(cluster, rules, strategies(), now, configuration.profiles)
            )
    else:
        with clock.phase("decide"), working("deciding"):
            cycle = decided(policy, lambda rules: run_cycle(cluster, rules, strategies(), now))
    with clock.phase("report"), working("making the plan"):
        plan = make_plan(cycle, now, placement)
    tell(plan.problems)
    untold = found.untold_warning(cycle.untold, "moves")
    tell(untold)
    origin = found.origin
    if request.timings:
        plan = structs.replace(plan, metadata=structs.replace(plan.metadata, timings=clock.seconds))
        origin = f"{origin}, {clock.seconds['load']:.1f} s"
    if request.verbosity:
        tell(clock.lines())
    notes = cycle_notes(cycle)
    if request.output in _FOR_PROGRAMS:
        tell(notes)
    if request.output == "html":
        # Who is handed the page has not seen what was told beside it.
        notes = (*notes, *untold)
    write_plan(request.output, plan, lambda: Report(plan, node_loads(cycle), origin, policy_view(policy), notes))


def decided(policy: PolicyFile, decide: Callable[[Policy], Cycle]) -> Cycle:
    """What is decided by a policy; InputError names its file where the cluster shows something in it to be wrong."""
    try:
        return decide(policy.loaded.policy)
    except InputError as error:
        # What only the cluster can show to be wrong in the policy: a priority class that is not there.
        raise InputError(f"{policy.name}: {error}") from error


def placement_of(asked: Placement | None, policy: PolicyFile) -> Placement:
    """How moves are placed: as asked for, else as the policy says, else proven."""
    return asked or policy.loaded.policy.restow.placement or "prove"
