"""From the arguments of ``restow schedule`` to its output: load, then schedule and report pod by pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from msgspec import UNSET
from rich.text import Text

import restow
from restow.cli.inputs import ClusterSource, LoadedCluster, check_inputs, instant, read_cluster
from restow.cli.missing_usage import scores_by_usage, unmeasured_nodes
from restow.cli.named_files import file_name
from restow.cli.named_objects import find_pod
from restow.cli.output import write_pieces
from restow.cli.policy_files import read_scheduler_config
from restow.cli.progress import Timings, working
from restow.cli.streams import warn
from restow.cluster.pod_values import Flag, Phase
from restow.cluster.pods import PENDING, Pods
from restow.cluster.snapshot import Cluster
from restow.cluster.state import ClusterState
from restow.errors import InputError, problem_lines
from restow.kube.timestamps import format_time
from restow.plain_text import printable
from restow.reporting.schedule_explanation import Aside, explanation, gated
from restow.reporting.schedule_result import Outcomes, ScheduleMetadata, ScoresFor, render_pod, render_result
from restow.reporting.schedule_rows import PodRow, ScheduledCluster, pod_row
from restow.reporting.schedule_table import print_schedule
from restow.reporting.table import print_sections
from restow.reporting.terminal import console
from restow.reporting.wording import counted
from restow.scheduling.configuration.load import SchedulerConfiguration
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.queue import Queue
from restow.scheduling.loop.decision import Decision
from restow.scheduling.loop.missing_data import MissingData
from restow.scheduling.loop.schedulers import Schedulers, schedule
from restow.scheduling.sampling.winners import feasible_to_find

Made = TypeVar("Made")


@dataclass(slots=True, frozen=True)
class Request:
    """What was asked for, as it was written."""

    where: ClusterSource
    pod: str | None = None
    configuration: str | None = None
    output: Literal["table", "json"] = "table"
    scores_for: ScoresFor = "needed"
    now: str | None = None
    timings: bool = False
    verbosity: int = 0


@dataclass(slots=True, frozen=True)
class _Asked:
    """The pods that are asked about, and the schedulers that decide about them."""

    found: LoadedCluster
    schedulers: Schedulers
    queue: Queue
    #: How many pods the queue holds before the only one that is asked about.
    ahead: int
    clock: Timings


def answer(request: Request) -> None:
    """Schedule, and write what came of it; InputError for whatever in the request cannot be used."""
    check_inputs(request.where, request.configuration)
    clock, now = Timings(), instant(request.now)
    configuration = read_scheduler_config(request.configuration)
    warn(problem_lines(configuration.warnings))
    with clock.phase("load"):
        found = read_cluster(request.where, usage=scores_by_usage(configuration.profiles))
    warn([*found.notes, *unmeasured_nodes(found, configuration.profiles)])
    with clock.phase("schedule"), working("counting"):
        asked = _asked(found, configuration.profiles, request.pod, clock)
    if request.output == "json":
        _write_json(asked, request, now)
        return
    place = _place(request, found.cluster, configuration, _origin(request, found, clock))
    if request.pod is None:
        _print_table(asked, request, place)
    else:
        _print_one(asked, request, place)


def _origin(request: Request, found: LoadedCluster, clock: Timings) -> str:
    return f"{found.origin}, {clock.seconds['load']:.1f} s" if request.timings else found.origin


def _place(request: Request, cluster: Cluster, used: SchedulerConfiguration, origin: str) -> ScheduledCluster:
    nodes = len(cluster.nodes)
    return ScheduledCluster(
        nodes=nodes,
        pods=len(cluster.pods),
        sources=origin,
        configuration="" if request.configuration is None else file_name(request.configuration),
        sampled=any(feasible_to_find(nodes, each.percentage_of_nodes_to_score) < nodes for each in used.profiles),
    )


def _asked(found: LoadedCluster, profiles: Sequence[SchedulerProfile], name: str | None, clock: Timings) -> _Asked:
    """Prepare the questions: every waiting pod, or one; one that has a node is taken off it first."""
    cluster = found.cluster
    pod = None if name is None else _schedulable(cluster.pods, name)
    state = ClusterState(cluster)
    schedulers = Schedulers(Context.of(state), profiles)
    queue = schedulers.queue()
    if pod is None:
        warn(_other_schedulers(cluster, schedulers.left_alone()))
        return _Asked(found, schedulers, queue, 0, clock)
    _check_scheduler(cluster.pods, pod, schedulers)
    if pod in queue.gated:
        return _Asked(found, schedulers, Queue((), {pod: queue.gated[pod]}), 0, clock)
    ahead = queue.pods.index(pod) if pod in queue.pods else 0
    state.place(pod, PENDING)
    return _Asked(found, schedulers, Queue((pod,), {}), ahead, clock)


def _schedulable(pods: Pods, name: str) -> int:
    """The pod of that name; InputError where no scheduler would ever look at it."""
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
            f"--pod: {pods.full_name(pod)} asks for the scheduler {wanted}, and how that one decides is not known"
        ) from error


def _each(asked: _Asked, request: Request, make: Callable[[Decision], Made]) -> list[Made]:
    """Make something of the decision about each pod, which is taken on what the pods before it have left."""
    made: list[Made] = []
    preempting = False
    with working(f"scheduling {counted(len(asked.queue.pods), 'pod')}"):
        decisions = schedule(asked.schedulers, asked.queue.pods)
        while True:
            with asked.clock.phase("schedule"):
                decision = next(decisions, None)
            if decision is None:
                break
            with asked.clock.phase("report"):
                made.append(make(decision))
            preempting = preempting or bool(decision.victims)
    warn(_warnings_of(asked.found, asked.queue.pods, preempting=preempting))
    if request.verbosity:
        warn(asked.clock.lines())
    return made


def _write_json(asked: _Asked, request: Request, now: int) -> None:
    outcomes = Outcomes(asked.found.cluster, request.scores_for)
    lines = _each(asked, request, lambda decision: render_pod(outcomes.of(decision)))
    lines += [render_pod(outcomes.gated(*each)) for each in sorted(asked.queue.gated.items())]
    timings = asked.clock.seconds if request.timings else UNSET
    metadata = ScheduleMetadata(format_time(now), restow.__version__, timings)
    write_pieces(render_result(metadata, lines))


def _print_table(asked: _Asked, request: Request, place: ScheduledCluster) -> None:
    rows = _each(asked, request, lambda decision: pod_row(asked.found.cluster, decision))
    name = asked.found.cluster.pods.full_name
    rows += [PodRow(name(pod), "gated", why=why) for pod, why in sorted(asked.queue.gated.items())]
    print_schedule(rows, place, console())


def _print_one(asked: _Asked, request: Request, place: ScheduledCluster) -> None:
    page = console()

    def explain(decision: Decision) -> list[list[Text]]:
        could_win = len(asked.schedulers.scheduler_of(decision.pod).odds(decision).nodes)
        return explanation(asked.found.cluster, decision, Aside(asked.ahead, could_win), page.width)

    pages = _each(asked, request, explain)
    pages += [gated(asked.found.cluster, pod, why, page.width) for pod, why in asked.queue.gated.items()]
    for sections in pages:
        print_sections([[*place.lines(page.width), *sections[0]], *sections[1:]], page)


def _warnings_of(found: LoadedCluster, pods: Sequence[int], *, preempting: bool) -> list[str]:
    """One sentence where the answers about these pods depend on kinds that the input does not tell of.

    ``preempting``: whether others would have to go for one of them, on which budgets have a say.
    """
    missing_data = MissingData(found.cluster)
    for pod in pods:
        missing_data.decisive(pod)
        missing_data.scoring(pod)
    if preempting:
        missing_data.lacks("PodDisruptionBudget")
    return found.missing_warning(missing_data.missed, "answers")


def _other_schedulers(cluster: Cluster, left: Iterable[int]) -> list[str]:
    """One sentence about the pending pods that are left to other schedulers; nothing without such pods."""
    pods = cluster.pods
    others = Counter(pods.tables.schedulers[pods.schedulers[pod]] for pod in left)
    if not others:
        return []
    counts = ", ".join(f"{printable(name)} {count:,}" for name, count in sorted(others.items()))
    total = others.total()
    verb = "uses another scheduler and is" if total == 1 else "use other schedulers and are"
    return [f"{counted(total, 'pending pod')} {verb} left out: {counts}"]
