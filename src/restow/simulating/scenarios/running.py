"""A scenario that runs: its actors, its objects and its events, from its beginning to its end, and the run in numbers.

Objects with a uid existed before, and are as they are written. Others are created when the run begins. Owners come
before what they own, and pods last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from restow.kube.duration import MINUTE
from restow.kube.manifests import Manifest, Pod, kind_of
from restow.kube.timestamps import SECOND
from restow.policies.policy import Policy
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.simulating.actors import Actors, start_actors
from restow.simulating.controllers.cluster_autoscaler import NAME as CLUSTER_AUTOSCALER
from restow.simulating.controllers.cluster_autoscaler import ClusterAutoscaler
from restow.simulating.controllers.horizontal_pod_autoscalers import NAME as HORIZONTAL_POD_AUTOSCALER
from restow.simulating.controllers.horizontal_pod_autoscalers import HorizontalPodAutoscalers, Scaled
from restow.simulating.descheduler import AskedMove, DeschedulerActor, DeschedulerSettings
from restow.simulating.scenarios.event_applier import EventApplier, FailedEvent
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.judging import ExpectationVerdict, Judge
from restow.simulating.scenarios.observations import ObservedScaling
from restow.simulating.scenarios.observing import RunObserver
from restow.simulating.scenarios.references import Reference
from restow.simulating.scenarios.run_record import CPU_SPREAD, MEMORY_SPREAD, NODES_IN_USE, RunRecord, RunRecorder
from restow.simulating.scenarios.scenario import Scenario
from restow.simulating.scenarios.usage import ScenarioUsage
from restow.simulating.scheduler import UnknownPlacement
from restow.simulating.virtual_cluster import VirtualCluster

#: The order in which objects are created.
_FIRST: Final = ("PriorityClass", "Namespace", "Node", "PodDisruptionBudget", "CronJob", "Deployment")
_LAST: Final = "Pod"


@dataclass(slots=True, frozen=True)
class ScenarioConfig:
    """What the schedulers and the descheduler of a scenario go by."""

    schedulers: tuple[tuple[SchedulerProfile, ...], ...]
    #: Of the descheduler, if there is one.
    policy: Policy


@dataclass(slots=True, frozen=True)
class ScenarioRun:
    """A scenario that has begun; its clock drives it."""

    simulation: VirtualCluster
    actors: Actors
    applier: EventApplier
    observer: RunObserver
    recorder: RunRecorder
    descheduler: DeschedulerActor | None

    def end(self) -> None:
        """Stop the run; everything stays as it is now."""
        if self.descheduler is not None:
            self.descheduler.stop()


def config_of(scenario: Scenario, folder: Folder, default: Policy) -> ScenarioConfig:
    """Return what the files that a scenario names say; InputError where one cannot be used.

    ``default`` is the policy of a descheduler that names none.
    """
    schedulers = tuple(tuple(folder.scheduler(name).profiles) for name in scenario.schedulers)
    named = scenario.descheduling.policy if scenario.descheduling else None
    return ScenarioConfig(
        schedulers or ((DEFAULT_PROFILE,),), default if named is None else folder.policy(named).policy
    )


def begin(scenario: Scenario, config: ScenarioConfig, now: int) -> ScenarioRun:
    """Start a scenario at a time, in nanoseconds since the epoch."""
    minor = scenario.scheduler_minor or config.policy.restow.scheduler_minor
    simulation = VirtualCluster.at(now, scenario.seed, minor)
    recorder = RunRecorder()
    observer = RunObserver(simulation, Judge(scenario.expectations), [recorder.observe])
    actors = start_actors(simulation, config.schedulers, scenario.kubelets)
    applier = EventApplier(simulation, actors.kubelets, ScenarioUsage(simulation), observer.evicted, observer.disturbed)
    descheduler = _descheduler(scenario, config, simulation, observer)
    _start_autoscalers(scenario, config, simulation, observer)
    for each in sorted(scenario.start, key=_order):
        if each.metadata.uid:
            simulation.store.load(each)
        else:
            simulation.store.apply(each)
    applier.enter(scenario.events)
    applier.enter_arrivals(scenario.arrivals)
    if descheduler is not None:
        descheduler.start()
    return ScenarioRun(simulation, actors, applier, observer, recorder, descheduler)


def _descheduler(
    scenario: Scenario, config: ScenarioConfig, simulation: VirtualCluster, observer: RunObserver
) -> DeschedulerActor | None:
    written = scenario.descheduling
    if written is None:
        return None
    settings = DeschedulerSettings(config.policy, written.placement, written.every, config.schedulers[0])
    descheduler = DeschedulerActor(simulation, settings)

    def on_answer(pod: Pod, asked: AskedMove) -> None:
        if asked.is_made:
            observer.evicted(pod, (asked.move.plugin, asked.move.profile), asked.replacement)

    descheduler.listeners.append(on_answer)
    return descheduler


def _start_autoscalers(
    scenario: Scenario, config: ScenarioConfig, simulation: VirtualCluster, observer: RunObserver
) -> None:
    """Start the autoscalers of a scenario, and report their actions to the observer."""
    if scenario.autoscalers is not None:
        autoscalers = HorizontalPodAutoscalers(simulation, scenario.autoscalers)

        def on_scaled(scaled: Scaled) -> None:
            observer.scaled(ObservedScaling(Reference(scaled.kind, *scaled.key), HORIZONTAL_POD_AUTOSCALER, scaled.old))

        autoscalers.listeners.append(on_scaled)
        autoscalers.start()
    if scenario.cluster_autoscaler is not None:
        profiles = [profile for scheduler in config.schedulers for profile in scheduler]
        grown = ClusterAutoscaler(simulation, scenario.cluster_autoscaler, profiles)
        grown.listeners.append(
            lambda each: observer.scaled(
                ObservedScaling(Reference("NodeGroup", "", each.group), CLUSTER_AUTOSCALER, each.old, (each.node,))
            )
        )
        grown.evicted.append(lambda pod: observer.evicted(pod, (CLUSTER_AUTOSCALER,)))
        grown.start()


def _order(manifest: Manifest) -> tuple[bool, int]:
    kind = kind_of(manifest)
    return kind == _LAST, _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


#: Called now and then with how much of a run is over, in nanoseconds.
Tick = Callable[[int], None]

#: From one look at a run to the next.
_STEP: Final = MINUTE
#: For how long nothing changes in a stable cluster, and how many looks of the descheduler at it change nothing.
_CALM: Final = 10 * MINUTE
_CALM_LOOKS: Final = 2


@dataclass(slots=True, frozen=True)
class RunEnding:
    """When a run ends: after a time, in nanoseconds, or sooner where nothing changes any more."""

    duration: int
    when_stable: bool


@dataclass(slots=True, frozen=True)
class Finished:
    """A run that is over."""

    #: Nanoseconds since the epoch.
    begins: int
    #: Nanoseconds of virtual time.
    duration: int
    #: Whether nothing had changed for a while when it ended.
    is_stable: bool
    record: RunRecord
    verdicts: tuple[ExpectationVerdict, ...]
    failed_events: Sequence[FailedEvent]
    #: What the eviction API refused the descheduler.
    refusals: tuple[AskedMove, ...]
    #: The pods that a scheduler did not know a node for, the first first.
    unknown: tuple[UnknownPlacement, ...] = ()


def run_out(scenario: Scenario, run: ScenarioRun, ending: RunEnding, tick: Tick) -> Finished:
    """Run a scenario that has begun, to its end."""
    clock = run.simulation.clock
    begins = clock.now
    end = begins + ending.duration
    calm_from = begins + _last_entry(scenario)
    for now in advance(run, end):
        tick(now - begins)
        if ending.when_stable and _is_stable(scenario, run, begins, calm_from):
            break
    is_stable = _is_stable(scenario, run, begins, calm_from)
    verdicts = run.observer.finish()
    duration = clock.now - begins
    moves = run.descheduler.moves if run.descheduler else ()
    refusals = tuple(each for each in moves if not each.is_made)
    record = run.recorder.finish(duration)
    unknown = sorted(each for scheduler in run.actors.schedulers for each in scheduler.unknown.values())
    return Finished(begins, duration, is_stable, record, verdicts, run.applier.failed_events, refusals, tuple(unknown))


def advance(run: ScenarioRun, end: int) -> Iterator[int]:
    """Advance a run to its end, in nanoseconds since the epoch; yields the time now and then."""
    clock = run.simulation.clock
    try:
        while clock.now < end:
            clock.run(min(clock.now + _STEP, end))
            yield clock.now
    finally:
        run.end()


def _last_entry(scenario: Scenario) -> int:
    """When the last thing happens that the scenario itself brings."""
    arrivals = (time for each in scenario.arrivals for time in (each.at, each.departs or 0))
    return max([0, *(each.at for each in scenario.events), *arrivals])


def _is_stable(scenario: Scenario, run: ScenarioRun, begins: int, calm_from: int) -> bool:
    """Whether nothing has changed for long enough, and nothing is to come."""
    every = scenario.descheduling.every if scenario.descheduling else 0
    calm = max(_CALM, _CALM_LOOKS * every)
    is_told = run.observer.catch_up()
    return is_told and run.simulation.clock.now >= max(calm_from, begins + run.recorder.changed) + calm


#: To how many digits spreads are rounded.
_DIGITS: Final = 4


class Future(Struct, frozen=True, rename="camel"):
    """The numbers of one run; for all except the seed, less is better."""

    #: What chance followed from.
    seed: int
    evictions: int
    #: Evicted pods whose replacement landed on the node that they had left.
    in_vain: int
    #: Evicted pods that had themselves replaced evicted ones.
    moved_again: int
    #: Seconds that pods were without a node, all together.
    pending_pod_seconds: float
    #: Seconds that workloads had fewer ready pods than they want, in total.
    below_seconds: float
    #: At the end, as are the two after it.
    nodes_in_use: int
    cpu_spread: float
    memory_spread: float
    #: When a pod or a node changed last, in seconds; None where the cluster was not quiet at the end.
    quiet_after_seconds: float | None
    #: Expectations that failed.
    failed: int


def future_of(scenario: Scenario, config: ScenarioConfig, now: int, ending: RunEnding, tick: Tick) -> Future:
    """Run a scenario; errors as ``begin`` and ``run_out``."""
    return _numbers(scenario.seed, run_out(scenario, begin(scenario, config, now), ending, tick))


def _numbers(seed: int, finished: Finished) -> Future:
    record = finished.record
    last = {name: round(number, _DIGITS) for name, number in record.samples.last.items()}
    return Future(
        seed=seed,
        evictions=len(record.evictions),
        in_vain=sum(each.landing == "returned" for each in record.evictions),
        moved_again=sum(each.is_again for each in record.evictions),
        pending_pod_seconds=_seconds(record.waiting.total),
        below_seconds=_seconds(sum(each.total for each in record.disruptions.values())),
        nodes_in_use=int(last[NODES_IN_USE]),
        cpu_spread=last[CPU_SPREAD],
        memory_spread=last[MEMORY_SPREAD],
        quiet_after_seconds=_seconds(record.changed) if finished.is_stable else None,
        failed=sum(each.outcome == "failed" for each in finished.verdicts),
    )


def _seconds(nanoseconds: int) -> float:
    return round(nanoseconds / SECOND, 3)
