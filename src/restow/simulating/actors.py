"""Starts what acts by itself in a simulated cluster, but deschedulers, autoscalers and scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.simulating.controllers.cron_jobs import CronJobController
from restow.simulating.controllers.daemon_sets import DaemonSetController
from restow.simulating.controllers.deployments import DeploymentController
from restow.simulating.controllers.disruption import DisruptionController
from restow.simulating.controllers.garbage_collection import (
    GarbageCollector,
    NamespaceController,
    PodGarbageCollector,
)
from restow.simulating.controllers.jobs import JobController
from restow.simulating.controllers.node_lifecycle import NodeLifecycle, TaintEviction
from restow.simulating.controllers.replica_sets import ReplicaSetController, ReplicationManager
from restow.simulating.controllers.stateful_sets import StatefulSetController
from restow.simulating.kubelets import Kubelets, KubeletSettings
from restow.simulating.memory import MemoryPressure
from restow.simulating.scheduler import SchedulerActor
from restow.simulating.virtual_cluster import VirtualCluster

#: In the order in which they see an event.
_CONTROLLERS = (
    GarbageCollector,
    NamespaceController,
    ReplicaSetController,
    ReplicationManager,
    DeploymentController,
    StatefulSetController,
    DaemonSetController,
    JobController,
    CronJobController,
    DisruptionController,
    TaintEviction,
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
    for start in _CONTROLLERS:
        start(simulation)
    kubelets = Kubelets(simulation, kubelet_settings)
    MemoryPressure(simulation, kubelets)
    NodeLifecycle(simulation, kubelets)
    PodGarbageCollector(simulation)
    names = ("scheduler", *(f"scheduler-{number}" for number in range(2, len(schedulers) + 1)))
    actors = tuple(
        SchedulerActor(simulation, profiles, name) for profiles, name in zip(schedulers, names, strict=False)
    )
    return Actors(kubelets, actors)
