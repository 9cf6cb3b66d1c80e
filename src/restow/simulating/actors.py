"""All actors of a simulated cluster except deschedulers and scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.simulating.controllers import (
    cron_jobs,
    daemon_sets,
    deployments,
    disruption,
    garbage_collector,
    jobs,
    namespaces,
    replica_sets,
    stateful_sets,
    taint_eviction,
)
from restow.simulating.controllers.node_lifecycle import NodeLifecycle
from restow.simulating.controllers.pod_gc import PodGarbageCollector
from restow.simulating.kubelets import Kubelets, KubeletSettings
from restow.simulating.memory import MemoryPressure
from restow.simulating.scheduler import SchedulerActor
from restow.simulating.simulation import VirtualCluster

_CONTROLLERS = (
    garbage_collector,
    namespaces,
    replica_sets,
    deployments,
    stateful_sets,
    daemon_sets,
    jobs,
    cron_jobs,
    disruption,
    taint_eviction,
)


@dataclass(slots=True, frozen=True)
class Actors:
    """The actors that others call."""

    kubelets: Kubelets
    schedulers: tuple[SchedulerActor, ...]


def start_actors(
    simulation: VirtualCluster,
    schedulers: Sequence[Sequence[SchedulerProfile]] = ((DEFAULT_PROFILE,),),
    kubelet_settings: KubeletSettings | None = None,
) -> Actors:
    """Have controllers, kubelets and schedulers work, before the first object comes.

    ``schedulers`` are the profiles of each scheduler; several of them do not know of one another.
    """
    for each in _CONTROLLERS:
        each.start(simulation)
    kubelets = Kubelets(simulation, kubelet_settings)
    MemoryPressure(simulation, kubelets)
    NodeLifecycle(simulation, kubelets)
    PodGarbageCollector(simulation)
    names = ("scheduler", *(f"scheduler-{number}" for number in range(2, len(schedulers) + 1)))
    actors = tuple(
        SchedulerActor(simulation, profiles, name) for profiles, name in zip(schedulers, names, strict=False)
    )
    return Actors(kubelets, actors)
