"""Where pending pods would go: read, then schedule one pod after the other on what those before have left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from restow.application.clusters import ClusterSource, LoadedCluster, check_inputs, find_pod, instant, read_cluster
from restow.application.feedback import Feedback
from restow.application.files import NamedFile
from restow.application.missing_usage import scores_by_usage, unmeasured_nodes
from restow.application.policies import read_scheduler_config
from restow.cluster.pod_values import Flag, Phase
from restow.cluster.pods import PENDING, Pods
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.errors import InputError, problem_lines
from restow.plain_text import printable
from restow.reporting.wording import counted
from restow.scheduling.configuration.load import SchedulerConfiguration
from restow.scheduling.devices.claims import Claims
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.waiting_pods import Queue
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.loop.missing_data import MissingData
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.loop.scheduling_pass import schedule
from restow.scheduling.numa.alignment import Alignment


@dataclass(slots=True, frozen=True)
class ScheduleRequest:
    """Which pods to schedule, and by which configuration; as a user writes it."""

    where: ClusterSource | LoadedCluster
    #: NAMESPACE/NAME; None: every pending pod.
    pod: str | None = None
    #: A KubeSchedulerConfiguration.
    configuration: NamedFile | None = None
    now: str | None = None


@dataclass(slots=True, frozen=True)
class Scheduling:
    """The pods that are to be scheduled, and the schedulers that decide about them."""

    found: LoadedCluster
    configuration: SchedulerConfiguration
    context: Context
    schedulers: Schedulers
    queue: Queue
    #: How many pods the queue holds before the only one that is asked about, and its group.
    ahead: int
    #: The only one; None for all.
    only: int | None
    #: Nanoseconds since the epoch.
    now: int

    def lacking_devices(self, pod: int, node: int) -> str:
        """What the claims of a pod lack on a node, a clause for people; empty where that is not a matter of numbers."""
        return self.context.shared(Claims).lacking(pod, node)

    def kubelet(self, pod: int, node: int) -> str:
        """Why the kubelet of a node refuses a pod, or may, a clause for people; empty where nothing is known against it."""
        return self.context.shared(_alignment).answer(pod, node).text

    def decisions(self, feedback: Feedback) -> Iterator[SchedulingDecision]:
        """Decide about one pod after the other; then warn of what the answers depend on and the input lacks."""
        preempting = False
        with feedback.working(f"scheduling {counted(len(self.queue.pods), 'pod')}"):
            decisions = schedule(self.schedulers, self.queue.pods)
            while True:
                with feedback.timings.phase("schedule"):
                    decision = next(decisions, None)
                if decision is None:
                    break
                if self.only in (None, decision.pod):
                    yield decision
                preempting = preempting or bool(decision.victims)
        feedback.warn(_missing(self.found, self.queue.pods, preempting=preempting))


def _alignment(context: Context) -> Alignment:
    return Alignment(context.state)


def prepare(request: ScheduleRequest, feedback: Feedback) -> Scheduling:
    """Read what the request names; InputError for anything in it that cannot be used."""
    check_inputs(request.where, request.configuration)
    now = instant(request.now)
    configuration = read_scheduler_config(request.configuration)
    feedback.warn(problem_lines(configuration.warnings))
    with feedback.timings.phase("load"):
        found = read_cluster(request.where, feedback, usage=scores_by_usage(configuration.profiles))
    feedback.warn([*found.notes, *filter(None, [found.assumed]), *unmeasured_nodes(found, configuration.profiles)])
    with feedback.timings.phase("schedule"), feedback.working("counting"):
        return _prepared(found, configuration, request.pod, now, feedback)


def _prepared(
    found: LoadedCluster, configuration: SchedulerConfiguration, name: str | None, now: int, feedback: Feedback
) -> Scheduling:
    """Every waiting pod, or one; one that has a node is taken off it first."""
    cluster = found.cluster
    pod = None if name is None else _schedulable(cluster.pods, name)
    state = ClusterState(cluster)
    context = Context.of(state)
    schedulers = Schedulers(context, configuration.profiles)
    queue, ahead = schedulers.queue(), 0
    if pod is None:
        feedback.warn(_other_schedulers(cluster, schedulers.left_alone()))
    else:
        _check_scheduler(cluster.pods, pod, schedulers)
        if pod in queue.gated:
            queue = Queue((), {pod: queue.gated[pod]})
        else:
            together = _together(schedulers, queue, pod)
            ahead = min((queue.pods.index(each) for each in together if each in queue.pods), default=0)
            state.place(pod, PENDING)
            queue = Queue(together, {})
    return Scheduling(found, configuration, context, schedulers, queue, ahead, pod, now)


def _together(schedulers: Schedulers, queue: Queue, pod: int) -> tuple[int, ...]:
    """A pod, and the pods in the queue that are scheduled with it."""
    group = schedulers.group_of(pod)
    others = [each for each in queue.pods if schedulers.group_of(each) == group] if group is not None else []
    return tuple(others) if pod in others else (pod, *others)


def _schedulable(pods: Pods, name: str) -> int:
    """The pod of that name; InputError where no scheduler ever considers it."""
    pod = find_pod(pods, name, "--pod")
    if pods.terminal[pod]:
        raise InputError(f"--pod: {name} is {Phase(pods.phase[pod]).name.capitalize()}: it is not scheduled again")
    if pods.carries(pod, Flag.TERMINATING):
        raise InputError(f"--pod: {name} is being deleted: it is not scheduled again")
    return pod


def _check_scheduler(pods: Pods, pod: int, schedulers: Schedulers) -> None:
    try:
        schedulers.scheduler_of(pod)
    except KeyError as error:
        wanted = pods.tables.schedulers[pods.schedulers[pod]]
        raise InputError(
            f"--pod: {pods.full_name(pod)} asks for the scheduler {wanted}, whose configuration is not known"
        ) from error


def _missing(found: LoadedCluster, pods: Sequence[int], *, preempting: bool) -> list[str]:
    """One sentence if the decisions about these pods depend on kinds that the input lacks.

    ``preempting``: whether a pod preempts others, which PodDisruptionBudgets may prevent.
    """
    missing_data = MissingData(found.cluster)
    for pod in pods:
        missing_data.decisive(pod)
        missing_data.scoring(pod)
    if preempting:
        missing_data.lacks("PodDisruptionBudget")
    return found.missing_warning(missing_data.missed, "answers")


def _other_schedulers(cluster: ClusterSnapshot, left: Iterable[int]) -> list[str]:
    """One sentence about the pending pods of other schedulers; nothing without such pods."""
    pods = cluster.pods
    others = Counter(pods.tables.schedulers[pods.schedulers[pod]] for pod in left)
    if not others:
        return []
    counts = ", ".join(f"{printable(name)} {count:,}" for name, count in sorted(others.items()))
    total = others.total()
    verb = "uses another scheduler and is" if total == 1 else "use other schedulers and are"
    return [f"{counted(total, 'pending pod')} {verb} left out: {counts}"]
