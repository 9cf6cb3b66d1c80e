"""Controllers of a mixed cluster: what a platform team finds when it looks at everything at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from restow.sources.synthetic import workloads
from restow.sources.synthetic.names import APPLICATIONS, NAMESPACES
from restow.sources.synthetic.nodes import HOSTNAME, ZONE, ZONES
from restow.sources.synthetic.pods import container
from restow.sources.synthetic.workloads import Kind, SyntheticWorkload, workload

if TYPE_CHECKING:
    from collections.abc import Iterator
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
