"""Nodes of a mixed cluster: four kinds of machines, some tainted, cordoned or lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.sources.synthetic.mixed_workloads import GPU
from restow.sources.synthetic.nodes import POD_SLOTS, Machine, node_name, zone_of

if TYPE_CHECKING:
    from restow.sources.synthetic.names import Object

#: Pods for which the sizes below are made; denser clusters get larger machines.
PODS_PER_NODE = 30

GIBI = 1024

#: Instance type, cores and GiB; machines take turns.
TYPES = (("standard-8", 8, 32), ("standard-16", 16, 64), ("standard-8", 8, 32), ("highmem-8", 8, 64))

GPU_TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}
#: Arrived after the pods did, so there is something to evict.
MAINTENANCE = {"key": "example.com/maintenance", "value": "planned", "effect": "NoSchedule"}
SPOT = {"key": "example.com/spot", "effect": "PreferNoSchedule"}
CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}


def machines(nodes: int, pods: int) -> list[Machine]:
    """All nodes of the cluster; odd ones are spread evenly, so that small clusters have some too."""
    scale = max(1, -(-pods // (nodes * PODS_PER_NODE)))
    return [_machine(index, scale) for index in range(nodes)]


def takes_gpu_only(machine: Machine) -> bool:
    """Whether the machine is reserved for pods that want its accelerators."""
    return GPU in machine.extended


def _machine(index: int, scale: int) -> Machine:
    instance_type, cores, gibi = TYPES[index % len(TYPES)]
    gpu = index % 25 == 24
    return Machine(
        node_name(index),
        zone_of(index),
        cpu_milli=cores * scale * 1000,
        memory_mebi=gibi * scale * GIBI,
        pods=POD_SLOTS * scale,
        taints=tuple(_taints(index, gpu=gpu)),
        unschedulable=_cordoned(index),
        ready=not _lost(index),
        instance_type="gpu-8" if gpu else instance_type,
        extended={GPU: "8"} if gpu else {},
    )


def _taints(index: int, *, gpu: bool) -> list[Object]:
    if gpu:
        return [GPU_TAINT]
    if _cordoned(index):
        return [CORDONED]
    if _lost(index):
        return [UNREACHABLE]
    if index % 50 == 13:
        return [MAINTENANCE]
    return [SPOT] if index % 50 == 38 else []


def _cordoned(index: int) -> bool:
    return index % 100 == 57


def _lost(index: int) -> bool:
    return index % 200 == 101
