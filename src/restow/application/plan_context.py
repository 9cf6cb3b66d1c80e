"""From a request for a plan to the decision: plan and explain take the same steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from restow.application.clusters import ClusterSource, LoadedCluster, check_inputs, instant, read_cluster
from restow.application.feedback import Feedback
from restow.application.missing_usage import scores_by_usage, unmeasured_nodes
from restow.application.named_files import NamedFile
from restow.application.policies import PolicyFile, read_policy_file, read_scheduler_config
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.cycle import Cycle
from restow.descheduling.planning import decided, placement_of, steering_of
from restow.errors import InputError, problem_lines
from restow.installed_packages import UnusablePackageError
from restow.kube.timestamps import SECOND, format_time
from restow.policies.codes import Placement, SteeringMode, SteeringSetting
from restow.policies.fallbacks import Fallbacks
from restow.policies.policy import PROMETHEUS, Policy, collects_kubernetes_metrics
from restow.policies.usage_section import queries_of
from restow.scheduling.configuration.load import SchedulerConfiguration
from restow.scheduling.configuration.profiles import SchedulerProfile


@dataclass(slots=True, frozen=True)
class PlanRequest:
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


@dataclass(slots=True, frozen=True)
class AskedPolicy:
    """A policy that may depend on a cluster which has not been read yet."""

    #: Whether it asks for what metrics.k8s.io serves.
    collects_usage: bool
    #: The policy in a cluster; InputError where there is none.
    of: Callable[[ClusterSnapshot], PolicyFile]


@dataclass(slots=True, frozen=True)
class PlanContext:
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
    return replace(found, cluster=replace(found.cluster, usage=usage))


def _with_stored_results(found: LoadedCluster, policy: Policy, now: int, feedback: Feedback) -> LoadedCluster:
    from restow.cluster.stored_usage import stored_results

    cycles = policy.restow.usage.cycles_in_all if policy.restow.usage is not None else 1
    usage = stored_results(found.cluster, queries_of(policy), now // SECOND, cycles, source=PROMETHEUS)
    if usage:
        newest = max(int(each.times[-1]) for result in usage.values() for each in result.samples)
        feedback.warn([f"the policy's queries come to what is stored, measured up to {format_time(newest * SECOND)}"])
    return replace(found, cluster=replace(found.cluster, usage=usage))


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
