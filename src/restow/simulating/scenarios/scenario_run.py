"""A scenario that runs: its actors, its objects, and its events.

Objects with a uid existed before, and are as they are written. Others are created when the run begins. Owners come
before what they own, and pods last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from restow.kube.manifests import Manifest, Pod
from restow.kube.manifests.documents import kind_of
from restow.policies.policy import Policy
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.simulating.actors import Actors, start_actors
from restow.simulating.controllers.cluster_autoscaler import NAME as CLUSTER_AUTOSCALER
from restow.simulating.controllers.cluster_autoscaler import ClusterAutoscaler
from restow.simulating.controllers.horizontal_pod_autoscalers import NAME as HORIZONTAL_POD_AUTOSCALER
from restow.simulating.controllers.horizontal_pod_autoscalers import HorizontalPodAutoscalers, Scaled
from restow.simulating.descheduler import AskedMove, DeschedulerActor, DeschedulerSettings
from restow.simulating.scenarios.event_applier import EventApplier
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.judging import Judge
from restow.simulating.scenarios.observations import ObservedScaling
from restow.simulating.scenarios.observing import RunObserver
from restow.simulating.scenarios.recording import RunRecorder
from restow.simulating.scenarios.references import Reference
from restow.simulating.scenarios.scenario import Scenario
from restow.simulating.scenarios.usage import ScenarioUsage
from restow.simulating.simulation import VirtualCluster

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
    simulation = VirtualCluster.at(now, scenario.seed)
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
            observer.evicted(pod, (asked.move.plugin, asked.move.profile))

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
