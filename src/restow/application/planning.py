"""A plan from a request: read, decide, prove, and say what else a reader of the plan should know."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace

from msgspec import structs

from restow.application.clusters import LoadedCluster
from restow.application.feedback import Feedback
from restow.application.missing_usage import missing_usage
from restow.application.plan_context import PlanContext, PlanRequest, plan_context
from restow.descheduling.cycle import Cycle
from restow.descheduling.node_utilization.queried import measured_usage
from restow.descheduling.plan import PlanDocument, Remark
from restow.descheduling.planning import cycle_notes, idle_strategies, make_plan
from restow.descheduling.registry import plugins
from restow.descheduling.steering import FOR_STEERING
from restow.descheduling.unmatched import unmatched
from restow.policies.codes import Placement, SteeringMode, SteeringSetting
from restow.policies.understood import decided_document

_HOW = "--steering nominate; docs/how-to/steer.md has the objects to install"


@dataclass(slots=True, frozen=True)
class Planned:
    """A plan, and what it was made from."""

    plan: PlanDocument
    context: PlanContext
    cycle: Cycle
    #: Sentences about the plan as a whole, such as what the strategies gain.
    notes: tuple[str, ...]
    #: Sentences about what the input lacks; they are reported already.
    missing: tuple[str, ...]

    @property
    def cluster(self) -> LoadedCluster:
        """What the plan is about."""
        return self.context.found


def make(request: PlanRequest, feedback: Feedback) -> Planned:
    """Make the plan; InputError for anything in the request that cannot be used, ClientError as ``read_cluster``."""
    context = plan_context(request, feedback)
    cycle = _decided(context, feedback)
    with feedback.timings.phase("report"), feedback.working("making the plan"):
        mistaken = unmatched(cycle.state.cluster, context.policy.loaded.policy, cycle.labels)
        plan = _plan(context, cycle, request.steering, mistaken)
    feedback.warn([*plan.problems, *mistaken])
    missing = missing_usage(context.found, context.policy.loaded.policy, cycle)
    missing += context.found.missing_warning(cycle.missing, "moves")
    feedback.warn(missing)
    return Planned(plan, context, cycle, cycle_notes(cycle), tuple(missing))


def _plan(
    context: PlanContext, cycle: Cycle, steering: SteeringMode | None, mistaken: Sequence[Remark]
) -> PlanDocument:
    """The document; it holds the policy and the scheduler configuration that it was made by."""
    policy = context.policy.loaded.policy
    plan = make_plan(cycle, context.now, context.placement, context.found.api_server)
    return structs.replace(
        plan,
        notes=(*plan.notes, *mistaken, *idle_strategies(policy, plugins())),
        usage=measured_usage(cycle.state.cluster, policy),
        policy=decided_document(policy, placement=context.placement, steering=steering or policy.restow.steering),
        scheduler_configuration=context.configuration.document,
    )


def _decided(context: PlanContext, feedback: Feedback) -> Cycle:
    proves = context.placement == Placement.PROVE
    with _phase(feedback, *(("prove", "deciding and proving") if proves else ("decide", "deciding"))):
        return context.decide()


def _phase(feedback: Feedback, name: str, doing: str) -> AbstractContextManager[object]:
    """Time a block, and show what it does."""
    stack = ExitStack()
    stack.enter_context(feedback.timings.phase(name))
    stack.enter_context(feedback.working(doing))
    return stack


def with_timings(plan: PlanDocument, feedback: Feedback) -> PlanDocument:
    """The plan with the seconds of each phase so far."""
    return structs.replace(plan, metadata=structs.replace(plan.metadata, timings=feedback.timings.seconds))


def steering_note(planned: Planned, feedback: Feedback) -> tuple[str, ...]:
    """How many more moves steering would make, found by deciding once more; nothing where it would not make more."""
    if not _leaves_steering_open(planned.context) or not _may_gain_by_steering(planned.cycle):
        return ()
    with _phase(feedback, "steering", "deciding once more, steered"):
        steered = len(replace(planned.context, steering=SteeringMode.NOMINATE).decide().record.evictions)
    made = len(planned.cycle.record.evictions)
    if steered <= made:
        return ()
    return (f"Steering would make {steered:,} moves instead of {made:,}: {_HOW}",)


def _leaves_steering_open(context: PlanContext) -> bool:
    """Whether nothing is steered although ``restow.steering`` of the policy is ``auto``."""
    wanted = context.policy.loaded.policy.restow.steering
    proves = context.placement == Placement.PROVE
    return proves and context.steering == SteeringMode.NONE and wanted == SteeringSetting.AUTO


def _may_gain_by_steering(cycle: Cycle) -> bool:
    """Whether a strategy that balances was refused a move because of what the scheduler would have done."""
    known = plugins()
    return any(
        refused.reason[1] in FOR_STEERING and "balance" in known[refused.ref.plugin].extension_points
        for refused in cycle.record.refusals
    )
