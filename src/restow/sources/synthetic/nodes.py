"""Node objects: three zones, one kind of machine, healthy by default."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from restow.sources.synthetic.names import BUILT, uid

if TYPE_CHECKING:
    from random import Random

    from restow.sources.synthetic.names import Object

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
ZONES = ("zone-a", "zone-b", "zone-c")

#: The default limit of the kubelet; a node that holds more in a scenario gets a higher one.
POD_SLOTS = 110


def node_name(index: int) -> str:
    """Name a node; names sort as numbers do."""
    return f"node-{index:05d}"


def zone_of(index: int) -> str:
    """Nodes take turns in the zones."""
    return ZONES[index % len(ZONES)]


@dataclass(slots=True, frozen=True)
class Machine:
    """What differs between nodes."""

    name: str
    zone: str
    cpu_milli: int
    memory_mebi: int
    pods: int = POD_SLOTS
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Object, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    instance_type: str = "standard-8"
    extended: dict[str, str] = field(default_factory=dict)


def node_object(machine: Machine, rng: Random) -> Object:
    """Make a v1 Node whose allocatable is its capacity."""
    resources = {
        "cpu": f"{machine.cpu_milli}m",
        "memory": f"{machine.memory_mebi}Mi",
        "pods": str(machine.pods),
        "ephemeral-storage": "100Gi",
    } | machine.extended
    spec: Object = {"providerID": f"example:///{machine.zone}/{machine.name}"}
    if machine.taints:
        spec["taints"] = list(machine.taints)
    if machine.unschedulable:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": machine.name,
            "uid": uid(rng),
            "creationTimestamp": BUILT,
            "labels": _labels(machine),
        },
        "spec": spec,
        "status": {"capacity": resources, "allocatable": resources, "conditions": _conditions(machine)},
    }


def _labels(machine: Machine) -> dict[str, str]:
    return {
        HOSTNAME: machine.name,
        ZONE: machine.zone,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": machine.instance_type,
    } | machine.labels


def _conditions(machine: Machine) -> list[Object]:
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": BUILT}
    lost = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": BUILT}
    pressure = {"type": "MemoryPressure", "status": "False", "lastTransitionTime": BUILT}
    return [pressure, ready if machine.ready else lost]
