"""A mixed cluster: a bit of everything that strategies look for, placed as an uneven past would have left it.

Some nodes were popular, so load is uneven; pods fit where they are; those that fit nowhere are pending.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from restow.sources.synthetic import workloads
from restow.sources.synthetic.names import (
    APPLICATIONS,
    BUILT,
    DAY,
    HOSTNAME,
    NAMESPACES,
    NOW,
    POD_SLOTS,
    ZONE,
    ZONES,
    Machine,
    ago,
    node_name,
    node_object,
    zone_of,
)
from restow.sources.synthetic.pods import HEALTHY, Life, completed, container, pod_maker
from restow.sources.synthetic.scenarios import namespace_object
from restow.sources.synthetic.system import bound_claim, service_of, storage_class, system_objects
from restow.sources.synthetic.workloads import (
    Kind,
    SyntheticWorkload,
    disruption_budget,
    owner_objects,
    priority_class,
    workload,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from restow.sources.synthetic.names import Object


GPU = "nvidia.com/gpu"
GPU_TOLERATION = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
EVERYWHERE = {"operator": "Exists"}

#: Name and value of the priority classes, the first being the one that most pods get.
PRIORITY_CLASSES = {"standard": 0, "business": 100_000, "best-effort": -1000}
CRITICAL = "system-node-critical"
CRITICAL_PRIORITY = 2_000_001_000

#: Share of each kind among the controllers, and how many replicas they have.
KINDS: tuple[tuple[float, Kind, tuple[int, ...]], ...] = (
    (0.78, "Deployment", (1, 2, 2, 3, 3, 3, 5, 5, 8, 10, 20, 30)),
    (0.88, "StatefulSet", (1, 3, 3, 5)),
    (0.97, "Job", (1, 1, 2, 4, 8)),
    (1.00, "Bare", (1,)),
)

#: Requested milli-CPU and MiB; None requests nothing.
CPU_MILLI = (None, 50, 100, 100, 200, 250, 500, 1000)
MEMORY_MEBI = (None, 64, 128, 256, 256, 512, 1024, 2048)


@dataclass(slots=True, frozen=True)
class Draft:
    """A controller and what its placement needs to know."""

    owner: SyntheticWorkload
    cpu_milli: int = 0
    memory_mebi: int = 0
    gpus: int = 0
    #: The zone that its pods require, if they do.
    zone: str | None = None


def drafts(pods: int, rng: Random, *, gpu_nodes: bool) -> Iterator[Draft]:
    """Yield controllers until they have ``pods`` pods."""
    left = pods
    index = 0
    while left > 0:
        draft = _draft(index, left, rng, gpu_nodes=gpu_nodes)
        yield draft
        left -= draft.owner.replicas
        index += 1


def daemon_sets(nodes: int, rng: Random) -> list[SyntheticWorkload]:
    """Return the two agents that run on every node."""
    critical = {"priority": CRITICAL_PRIORITY, "priorityClassName": CRITICAL, "tolerations": [EVERYWHERE]}
    network = {"containers": [container("example.com/node-network:3.1", {"cpu": "50m"})], **critical}
    exporter = {
        "containers": [container("example.com/node-exporter:1.9", {"cpu": "20m", "memory": "32Mi"})],
        "priority": 0,
        "tolerations": [EVERYWHERE],
        "volumes": [{"name": "root", "hostPath": {"path": "/"}}],
    }
    return [
        workload("DaemonSet", "kube-system", "node-network", nodes, network, rng=rng),
        workload("DaemonSet", "monitoring", "node-exporter", nodes, exporter, rng=rng),
    ]


def _draft(index: int, left: int, rng: Random, *, gpu_nodes: bool) -> Draft:
    kind, choices = next((kind, choices) for share, kind, choices in KINDS if rng.random() < share or share == 1)
    name = f"{rng.choice(APPLICATIONS)}-{index:05d}"
    cpu, memory = rng.choice(CPU_MILLI), rng.choice(MEMORY_MEBI)
    gpus = 1 if gpu_nodes and kind == "Job" and rng.random() < 0.3 else 0
    zone = rng.choice(ZONES) if kind == "Deployment" and not gpus and rng.random() < 0.08 else None
    spec: Object = {
        "containers": [container(f"example.com/{name}:1.0", _requests(cpu, memory, gpus), _limits(memory))],
        **_priority(kind, rng),
    }
    spec |= workloads.only_in(zone) if zone else _rules(name, rng)
    if gpus:
        spec["tolerations"] = [GPU_TOLERATION]
    if kind != "StatefulSet" and rng.random() < 0.05:
        spec["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    claim = "data" if kind == "StatefulSet" else ""
    replicas = min(rng.choice(choices), left)
    owner = workload(kind, rng.choice(NAMESPACES), name, replicas, spec, rng=rng, claim=claim)
    return Draft(owner, cpu or 0, memory or 0, gpus, zone)


def _requests(cpu: int | None, memory: int | None, gpus: int) -> dict[str, str]:
    requests = {"cpu": f"{cpu}m"} if cpu else {}
    requests |= {"memory": f"{memory}Mi"} if memory else {}
    return requests | ({GPU: str(gpus)} if gpus else {})


def _limits(memory: int | None) -> dict[str, str]:
    return {"memory": f"{2 * memory}Mi"} if memory else {}


def _priority(kind: Kind, rng: Random) -> Object:
    draw = rng.random()
    name = "best-effort" if kind == "Job" or draw < 0.1 else "business" if draw < 0.3 else "standard"
    return {"priority": PRIORITY_CLASSES[name], "priorityClassName": name}


def _rules(app: str, rng: Random) -> Object:
    """One in two applications says nothing about where it runs."""
    draw = rng.random()
    if draw < 0.2:
        return workloads.spread_over(HOSTNAME, app)
    if draw < 0.32:
        return workloads.spread_over(ZONE, app)
    if draw < 0.37:
        return workloads.spread_over(ZONE, app, when="ScheduleAnyway")
    if draw < 0.46:
        return workloads.one_per_node(app)
    if draw < 0.5:
        return workloads.rather_in(rng.choice(ZONES))
    return {}


#: How many nodes a pod tries before it stays pending.
TRIES = 12

#: How often a pod ignores the zone that it requires: the node's label changed under it.
STRAY = 0.1

#: Pods for which the sizes below are made; denser clusters get larger machines.
_PODS_PER_NODE = 30

_GIBI = 1024

#: Instance type, cores and GiB; machines take turns.
_TYPES = (("standard-8", 8, 32), ("standard-16", 16, 64), ("standard-8", 8, 32), ("highmem-8", 8, 64))

_GPU_TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}
#: Arrived after the pods did, so there is something to evict.
_MAINTENANCE = {"key": "example.com/maintenance", "value": "planned", "effect": "NoSchedule"}
_SPOT = {"key": "example.com/spot", "effect": "PreferNoSchedule"}
_CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}


def mixed_cluster(nodes: int, pods: int, rng: Random) -> Iterator[Object]:
    """Yield nodes, namespaces, classes, controllers, budgets, claims and pods."""
    built = _machines(nodes, pods)
    for machine in built:
        yield node_object(machine, rng)
    namespaces = (*NAMESPACES, "kube-system", "monitoring")
    for name in namespaces:
        yield namespace_object(name, rng)
    for name, value in PRIORITY_CLASSES.items():
        yield priority_class(name, value, rng)
    yield storage_class(rng)
    yield from system_objects((machine.name for machine in built), namespaces)
    agents = daemon_sets(nodes, rng) if 6 * nodes <= pods else []
    left = pods - nodes * len(agents)
    wanted = list(drafts(left, rng, gpu_nodes=any(_takes_gpu_only(machine) for machine in built)))
    for owner in [*agents, *(draft.owner for draft in wanted)]:
        yield from owner_objects(owner)
        yield from service_of(owner)
        yield from _budget(owner, rng)
        yield from _claims(owner, rng)
    for agent in agents:
        yield from _agents(agent, built, rng)
    free = Free(built, rng)
    for draft in wanted:
        yield from _pods(draft, free, rng)


def full_cluster(nodes: int, pods: int, rng: Random) -> Iterator[Object]:
    """Yield a mixed cluster whose pods have the size of real ones."""
    return completed(mixed_cluster(nodes, pods, rng), rng)


class Free:
    """What is left of every node while pods are placed."""

    def __init__(self, built: Sequence[Machine], rng: Random) -> None:
        self.machines = list(built)
        rng.shuffle(self.machines)
        self.cpu = [machine.cpu_milli for machine in self.machines]
        self.memory = [machine.memory_mebi for machine in self.machines]
        self.slots = [machine.pods for machine in self.machines]
        self.gpus = [int(next(iter(machine.extended.values()), 0)) for machine in self.machines]
        self.accelerated = [index for index, gpus in enumerate(self.gpus) if gpus]
        self.rng = rng

    def place(self, draft: Draft) -> str | None:
        """Take room for one pod on a node, popular ones first; None if no tried node has any."""
        zone = None if self.rng.random() < STRAY else draft.zone
        for _ in range(TRIES):
            index = self.rng.choice(self.accelerated) if draft.gpus else self._popular()
            if zone in (None, self.machines[index].zone) and self._fits(index, draft):
                self._take(index, draft)
                return self.machines[index].name
        return None

    def _popular(self) -> int:
        """Draw a node; the first of the shuffled nodes come up more often than the last."""
        return int(len(self.machines) * self.rng.random() ** 1.4)

    def _fits(self, index: int, draft: Draft) -> bool:
        return (
            _takes_gpu_only(self.machines[index]) == bool(draft.gpus)
            and self.slots[index] > 0
            and self.cpu[index] >= draft.cpu_milli
            and self.memory[index] >= draft.memory_mebi
            and self.gpus[index] >= draft.gpus
        )

    def _take(self, index: int, draft: Draft) -> None:
        self.slots[index] -= 1
        self.cpu[index] -= draft.cpu_milli
        self.memory[index] -= draft.memory_mebi
        self.gpus[index] -= draft.gpus


def _agents(agent: SyntheticWorkload, built: Sequence[Machine], rng: Random) -> Iterator[Object]:
    make = pod_maker(agent, rng)
    for index, machine in enumerate(built):
        yield make(index, machine.name, BUILT)


def _pods(draft: Draft, free: Free, rng: Random) -> Iterator[Object]:
    make = pod_maker(draft.owner, rng)
    for replica in range(draft.owner.replicas):
        # Most pods are young, a few are a quarter of a year old.
        created = ago(3600 + int(90 * DAY * rng.random() ** 3))
        yield make(replica, free.place(draft), created, _life(draft.owner, rng))


#: Cumulative shares of what can happen to a pod.
FATES = (
    (0.010, Life(restarts=240, waiting="CrashLoopBackOff")),
    (0.015, Life("Pending", waiting="ImagePullBackOff")),
    (0.020, Life("Failed", reason="Evicted")),
    (0.025, Life("Failed", terminated="OOMKilled", exit_code=137)),
    (0.030, Life(deleted=NOW)),
    (0.040, Life(annotations={"descheduler.alpha.kubernetes.io/prefer-no-eviction": "true"})),
    (0.045, Life(annotations={"descheduler.alpha.kubernetes.io/evict": "true"})),
)
COMPLETED = Life("Succeeded", terminated="Completed")


def _life(owner: SyntheticWorkload, rng: Random) -> Life:
    draw = rng.random()
    for share, life in FATES:
        if draw < share:
            return life
    return COMPLETED if owner.kind == "Job" and draw < 0.4 else HEALTHY


def _budget(owner: SyntheticWorkload, rng: Random) -> Iterator[Object]:
    """Yield a disruption budget for one in four applications of several pods; half of them allow nothing."""
    if owner.kind in {"Deployment", "StatefulSet"} and owner.replicas > 1 and rng.random() < 0.25:
        yield disruption_budget(owner, rng.choice((0, 1)), rng)


def _claims(owner: SyntheticWorkload, rng: Random) -> Iterator[Object]:
    for replica in range(owner.replicas if owner.claim else 0):
        yield from bound_claim(owner, replica, rng)


def _machines(nodes: int, pods: int) -> list[Machine]:
    """All nodes of the cluster; odd ones are spread evenly, so that small clusters have some too."""
    scale = max(1, -(-pods // (nodes * _PODS_PER_NODE)))
    return [_machine(index, scale) for index in range(nodes)]


def _takes_gpu_only(machine: Machine) -> bool:
    """Whether the machine is reserved for pods that want its accelerators."""
    return GPU in machine.extended


def _machine(index: int, scale: int) -> Machine:
    instance_type, cores, gibi = _TYPES[index % len(_TYPES)]
    gpu = index % 25 == 24
    return Machine(
        node_name(index),
        zone_of(index),
        cpu_milli=cores * scale * 1000,
        memory_mebi=gibi * scale * _GIBI,
        pods=POD_SLOTS * scale,
        taints=tuple(_taints(index, gpu=gpu)),
        unschedulable=_cordoned(index),
        ready=not _lost(index),
        instance_type="gpu-8" if gpu else instance_type,
        extended={GPU: "8"} if gpu else {},
    )


def _taints(index: int, *, gpu: bool) -> list[Object]:
    if gpu:
        return [_GPU_TAINT]
    if _cordoned(index):
        return [_CORDONED]
    if _lost(index):
        return [_UNREACHABLE]
    if index % 50 == 13:
        return [_MAINTENANCE]
    return [_SPOT] if index % 50 == 38 else []


def _cordoned(index: int) -> bool:
    return index % 100 == 57


def _lost(index: int) -> bool:
    return index % 200 == 101
