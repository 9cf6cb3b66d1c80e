"""A plan from a request, and why a pod of it moves or stays: read, decide, prove, and say what else a reader should know.

``restow plan`` and ``restow explain`` take the same steps up to the decision (`plan_context`, `PlanContext.decide`); then the one
makes the document, and the other finds the pod or node that is asked about and asks once more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field, structs

from restow.application.clusters import (
    ClusterSource,
    LoadedCluster,
    check_inputs,
    find_node,
    find_pod,
    instant,
    read_cluster,
)
from restow.application.feedback import Feedback
from restow.application.files import NamedFile
from restow.application.missing_usage import missing_usage, scores_by_usage, unmeasured_nodes
from restow.application.policies import PolicyFile, read_policy_file, read_scheduler_config
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.cycle import Cycle
from restow.descheduling.node_utilization.queried import measured_usage
from restow.descheduling.plan import PlanDocument, Remark
from restow.descheduling.policy_remarks import unmatched
from restow.descheduling.registry import plugins, strategies
from restow.errors import InputError, problem_lines
from restow.installed_packages import UnusablePackageError
from restow.kube.timestamps import SECOND, format_time
from restow.policies.codes import Placement, SteeringMode, SteeringSetting
from restow.policies.fallbacks import Fallbacks
from restow.policies.policy import Policy, collects_kubernetes_metrics
from restow.policies.understood import decided_document
from restow.policies.usage import queries_of
from restow.proving.planning import (
    cycle_notes,
    decided,
    idle_strategies,
    make_plan,
    moved_requests,
    node_loads,
    placement_of,
    policy_as_asked,
    steering_of,
)
from restow.proving.steering import FOR_STEERING
from restow.proving.surges import replacement_notes
from restow.scheduling.configuration.load import SchedulerConfiguration
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.usage.sources import PROMETHEUS

if TYPE_CHECKING:
    from restow.explaining.explanation import NodeExplanation, PodExplanation
    from restow.explaining.what_if import Setting
    from restow.reporting.forms import Report


class PlanRequest(Struct, frozen=True):
    """What was asked for, as it was written."""

    where: ClusterSource | LoadedCluster
    policy: NamedFile | None = None
    placement: Placement | None = None
    steering: SteeringMode | None = None
    configuration: NamedFile | None = None
    now: str | None = None
    fallbacks: Fallbacks = field(default_factory=Fallbacks)
    #: A file whose policy depends on the cluster; ``policy`` is None then.
    kubedescheduler: str | None = None


class AskedPolicy(Struct, frozen=True):
    """A policy that may depend on a cluster which has not been read yet."""

    #: Whether it asks for what metrics.k8s.io serves.
    collects_usage: bool
    #: The policy in a cluster; InputError where there is none.
    of: Callable[[ClusterSnapshot], PolicyFile]


class PlanContext(Struct, frozen=True):
    """What a plan is made from: everything that the request names, read and checked."""

    found: LoadedCluster
    policy: PolicyFile
    placement: Placement
    steering: SteeringMode
    configuration: SchedulerConfiguration
    #: Nanoseconds since the epoch.
    now: int

    @property
    def profiles(self) -> tuple[SchedulerProfile, ...]:
        """Of the cluster's schedulers."""
        return self.configuration.profiles

    def decide(self) -> Cycle:
        """The decision; InputError names the policy's file where the cluster shows something in it to be wrong."""
        cluster, rules = self.found.cluster, self.policy.loaded.policy
        try:
            return decided(cluster, rules, self.placement, self.now, self.profiles, steering=self.steering)
        except UnusablePackageError:
            raise
        except InputError as error:
            # What only the cluster can show to be wrong in the policy: a priority class that is not there.
            raise InputError(f"{self.policy.name}: {error}") from error


def asked_policy(
    policy: NamedFile | None, kubedescheduler: str | None, fallbacks: Fallbacks, feedback: Feedback
) -> AskedPolicy:
    """Read the file that was named, or the bundled policy, and report its warnings; InputError where it is refused."""
    if kubedescheduler is None:
        file = read_policy_file(policy, fallbacks)
        feedback.warn(problem_lines(file.loaded.warnings))
        return AskedPolicy(collects_kubernetes_metrics(file.loaded.policy), lambda _: file)
    if policy is not None or fallbacks != Fallbacks():
        raise InputError(f"--kubedescheduler says what the policy is; leave {_other_says(policy)} out")

    from restow.application.kubedescheduler import policy_in, read_kubedescheduler

    resource = read_kubedescheduler(kubedescheduler)
    # What utilization goes by is what pods request, or Prometheus.
    return AskedPolicy(collects_usage=False, of=lambda cluster: policy_in(cluster, resource, kubedescheduler, feedback))


def _other_says(policy: NamedFile | None) -> str:
    """What else would say what the policy is."""
    flags = "--node-selector, --max-pods-to-evict-per-node and --evict-local-storage-pods"
    return flags if policy is None else "--policy-config-file"


def plan_context(plan_request: PlanRequest, feedback: Feedback) -> PlanContext:
    """Read what a question names, the cluster in the phase ``load``; InputError for anything that cannot be used."""
    check_inputs(plan_request.where, plan_request.policy, plan_request.configuration, plan_request.kubedescheduler)
    now = instant(plan_request.now)
    asked = asked_policy(plan_request.policy, plan_request.kubedescheduler, plan_request.fallbacks, feedback)
    configuration = read_scheduler_config(plan_request.configuration)
    feedback.warn(problem_lines(configuration.warnings))
    with feedback.timings.phase("load"):
        usage = asked.collects_usage or scores_by_usage(configuration.profiles)
        found = read_cluster(plan_request.where, feedback, usage=usage)
        if asked.collects_usage:
            found = found.with_usage_at(now)
    feedback.warn([*found.notes, *unmeasured_nodes(found, configuration.profiles)])
    policy = asked.of(found.cluster)
    found = found.of_version(policy.loaded.policy.restow.scheduler_minor)
    feedback.warn(filter(None, [found.assumed]))
    with feedback.timings.phase("load"):
        found = _with_usage(found, policy.loaded.policy, now, feedback)
    placement = placement_of(plan_request.placement, policy.loaded.policy)
    steering = _steering(plan_request.steering, found, placement, policy.loaded.policy, feedback)
    return PlanContext(found, policy, placement, steering, configuration, now)


def _with_usage(found: LoadedCluster, policy: Policy, now: int, feedback: Feedback) -> LoadedCluster:
    """The cluster with what the queries come to that the policy asks: now, or, of a dump, as it has stored them."""
    if not queries_of(policy):
        return found
    if not found.is_live:
        return _with_stored_results(found, policy, now, feedback)
    from restow.application.live_clusters import read_usage

    with feedback.working("asking for usage"):
        usage = read_usage(found.source.kubeconfig, found.source.context, policy)
    return structs.replace(found, cluster=replace(found.cluster, usage=usage))


def _with_stored_results(found: LoadedCluster, policy: Policy, now: int, feedback: Feedback) -> LoadedCluster:
    from restow.usage.stored import stored_results

    cycles = policy.restow.usage.cycles_in_all if policy.restow.usage is not None else 1
    usage = stored_results(found.cluster, queries_of(policy), now // SECOND, cycles, source=PROMETHEUS)
    if usage:
        newest = max(int(each.times[-1]) for result in usage.values() for each in result.samples)
        feedback.warn(
            [f"the policy's queries are answered from stored usage, measured up to {format_time(newest * SECOND)}"]
        )
    return structs.replace(found, cluster=replace(found.cluster, usage=usage))


def _steering(
    asked: SteeringMode | None, found: LoadedCluster, placement: Placement, policy: Policy, feedback: Feedback
) -> SteeringMode:
    """How replacements are brought to their targets; a live cluster is asked where the policy leaves it to that."""
    wanted = policy.restow.steering
    if (
        asked is not None
        or not found.is_live
        or placement != Placement.PROVE
        or wanted not in (SteeringSetting.AUTO, SteeringSetting.NOMINATE)
    ):
        return steering_of(asked, policy)
    from restow.application.live_clusters import ask_for_steering

    steering, sentence = ask_for_steering(found.source.kubeconfig, found.source.context)
    feedback.warn([sentence])
    return steering


_HOW = "--steering nominate; docs/how-to/steer.md has the objects to install"


class Planned(Struct, frozen=True):
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
    notes = (*cycle_notes(cycle), *replacement_notes(cycle.state.cluster, context.policy.loaded.policy.restow))
    return Planned(plan, context, cycle, notes, tuple(missing))


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


def report_of(planned: Planned, origin: str, notes: tuple[str, ...]) -> Report:
    """The report that the forms of a plan render; ``origin`` says where the cluster came from."""
    from restow.application.policies import policy_view
    from restow.reporting.forms import Report

    loads, requests = partial(node_loads, planned.cycle), partial(moved_requests, planned.cycle)
    return Report(planned.plan, loads, origin, policy_view(planned.context.policy), notes, requests)


def rendered(planned: Planned, form: str) -> bytes:
    """A plan in one of the forms of ``restow plan``, with everything that was noticed."""
    from restow.reporting.forms import form_named

    report = report_of(planned, planned.cluster.origin, (*planned.notes, *planned.missing))
    written = form_named(form)(report)
    return written.encode() if isinstance(written, str) else b"".join(written)


def with_timings(plan: PlanDocument, feedback: Feedback) -> PlanDocument:
    """The plan with the seconds of each phase so far."""
    return structs.replace(plan, metadata=structs.replace(plan.metadata, timings=feedback.timings.seconds))


def steering_note(planned: Planned, feedback: Feedback) -> tuple[str, ...]:
    """How many more moves steering would make, found by deciding once more; nothing where it would not make more."""
    if not _leaves_steering_open(planned.context) or not _may_gain_by_steering(planned.cycle):
        return ()
    with _phase(feedback, "steering", "deciding once more, steered"):
        steered = len(structs.replace(planned.context, steering=SteeringMode.NOMINATE).decide().record.evictions)
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


def explained_pod(request: PlanRequest, name: str, feedback: Feedback) -> PodExplanation:
    """Explain the pod NAMESPACE/NAME; InputError for anything in the request that cannot be used."""
    from restow.explaining.answers import explain_pod

    setting, pod = _planned(request, feedback, lambda cluster: find_pod(cluster.pods, name, "explain pod"))
    with feedback.timings.phase("explain"), feedback.working("asking once more"):
        return explain_pod(setting, pod)


def explained_node(request: PlanRequest, name: str, feedback: Feedback) -> NodeExplanation:
    """Explain a node; InputError as ``explained_pod``."""
    from restow.explaining.answers import explain_node

    setting, node = _planned(request, feedback, lambda cluster: find_node(cluster.nodes, name, "explain node"))
    with feedback.timings.phase("explain"), feedback.working("asking once more"):
        return explain_node(setting, node)


def _planned(request: PlanRequest, feedback: Feedback, find: Callable[[ClusterSnapshot], int]) -> tuple[Setting, int]:
    """Find the object that is asked about, before the plan is made."""
    context = plan_context(request, feedback)
    index = find(context.found.cluster)
    return _setting(context, feedback), index


def _setting(context: PlanContext, feedback: Feedback) -> Setting:
    from restow.explaining.what_if import Setting

    with feedback.timings.phase("plan"), feedback.working("making the plan"):
        cycle = context.decide()
    policy, cluster = context.policy.loaded.policy, context.found.cluster
    feedback.warn(context.found.missing_warning(cycle.missing, "moves"))
    feedback.warn(cycle_notes(cycle))
    feedback.warn(missing_usage(context.found, policy, cycle))
    rules = policy_as_asked(policy, context.placement)
    return Setting(
        cycle, cluster, rules, strategies(), context.now, context.placement, context.steering, context.profiles
    )
