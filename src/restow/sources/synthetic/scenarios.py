"""Uniform clusters: owners of ten replicas, one thing wrong.

A scenario says where replicas run, what rules their owners carry, how roomy the nodes are, and what pods have been
through. Everything else is the same in all of them, so that two clusters differ only in their problem.

A placement is pure arithmetic from (owner, replica) to a node. Slot ``owner + replica * owners`` numbers the replicas so
that those of one owner lie far apart; a placement lays the slots out over the nodes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from restow.sources.synthetic.names import (
    APPLICATIONS,
    BUILT,
    NAMESPACES,
    POD_SLOTS,
    Machine,
    node_name,
    node_object,
    uid,
    within_days,
    zone_of,
)
from restow.sources.synthetic.pods import HEALTHY, Life, container, pod_maker
from restow.sources.synthetic.system import system_objects
from restow.sources.synthetic.workloads import SyntheticWorkload, owner_objects, workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from restow.sources.synthetic.names import Object


@dataclass(slots=True, frozen=True)
class SyntheticSize:
    """How large a uniform cluster is."""

    nodes: int
    pods: int
    replicas: int = 10
    namespaces: int = 30

    @property
    def owners(self) -> int:
        """How many controllers there are; the last may have fewer replicas."""
        return -(-self.pods // self.replicas)

    @property
    def slots(self) -> int:
        """Replicas if every controller had all of them."""
        return self.owners * self.replicas

    @property
    def pods_per_node(self) -> int:
        """The average, rounded up."""
        return -(-self.pods // self.nodes)

    def slot(self, owner: int, replica: int) -> int:
        """Number a replica."""
        return owner + replica * self.owners


def evenly(size: SyntheticSize, owner: int, replica: int) -> int:
    """Put the same number of pods on every node, replicas of one owner apart."""
    return size.slot(owner, replica) * size.nodes // size.slots


def in_pairs(size: SyntheticSize, owner: int, replica: int) -> int:
    """Two replicas of an owner on each of its nodes: half of them are duplicates."""
    return evenly(size, owner, replica // 2 * 2)


def hot_half(size: SyntheticSize, owner: int, replica: int) -> int:
    """Put on the first half of the nodes 46 pods for every 14 on the other half."""
    hot_nodes = size.nodes // 2
    hot_pods = -(-46 * size.pods_per_node // 30)
    cold_pods = max(2 * size.pods_per_node - hot_pods, 1)
    slot = size.slot(owner, replica)
    if slot < hot_nodes * hot_pods:
        return slot // hot_pods
    return min(hot_nodes + (slot - hot_nodes * hot_pods) // cold_pods, size.nodes - 1)


#: What every pod of such a cluster requests.
POD_CPU_MILLI = 100
POD_MEMORY_MEBI = 128

#: Pods are at most this old unless their scenario says otherwise.
YOUNG_DAYS = 28


def no_rules(_owner: int, _name: str) -> Object:
    """Pods that run anywhere."""
    return {}


def roomy(size: SyntheticSize, placed: int) -> int:
    """Nodes that take more than twice the average."""
    return max(2 * size.pods_per_node, placed) + 10


def twice_the_average(size: SyntheticSize, _placed: int) -> int:
    """Nodes that are half full when the pods are spread evenly."""
    return 2 * size.pods_per_node


def young_and_healthy(_pod: int, rng: Random) -> tuple[str, Life]:
    """Pods of the last four weeks, without incident."""
    return within_days(YOUNG_DAYS, rng), HEALTHY


@dataclass(slots=True, frozen=True)
class SyntheticScenario:
    """One uniform cluster of any size."""

    #: ``(size, owner, replica)`` to the node.
    place: Callable[[SyntheticSize, int, int], int] = evenly
    #: ``(owner, application name)`` to the part of the pods' spec that says where they may run.
    rules: Callable[[int, str], Object] = no_rules
    #: ``(size, pods on the node)`` to the number of pods for which the node has CPU.
    room: Callable[[SyntheticSize, int], int] = roomy
    #: ``(pod, rng)`` to its creation time and what it has been through.
    life: Callable[[int, Random], tuple[str, Life]] = young_and_healthy
    #: Pods to replicas per owner.
    replicas: Callable[[int], int] = lambda _pods: 10
    namespaces: int = len(NAMESPACES)


def uniform_cluster(scenario: SyntheticScenario, nodes: int, pods: int, rng: Random) -> Iterator[Object]:
    """Yield the nodes, namespaces, controllers and pods of a scenario."""
    size = SyntheticSize(nodes, pods, scenario.replicas(pods), scenario.namespaces)
    yield from _nodes(scenario, size, rng)
    for name in NAMESPACES[: size.namespaces]:
        yield namespace_object(name, rng)
    yield from system_objects(map(node_name, range(nodes)), ())
    owners = [_owner(scenario, size, index, rng) for index in range(size.owners)]
    for owner in owners:
        yield from owner_objects(owner)
    for index, owner in enumerate(owners):
        make = pod_maker(owner, rng)
        for replica in range(owner.replicas):
            created, life = scenario.life(index * size.replicas + replica, rng)
            yield make(replica, node_name(scenario.place(size, index, replica)), created, life)


def namespace_object(name: str, rng: Random) -> Object:
    """Make a v1 Namespace with the label that the API server gives it."""
    labels = {"kubernetes.io/metadata.name": name}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "uid": uid(rng), "creationTimestamp": BUILT, "labels": labels},
        "status": {"phase": "Active"},
    }


def _nodes(scenario: SyntheticScenario, size: SyntheticSize, rng: Random) -> Iterator[Object]:
    placed = Counter(
        scenario.place(size, owner, replica)
        for owner in range(size.owners)
        for replica in range(_replicas(size, owner))
    )
    for index in range(size.nodes):
        room = scenario.room(size, placed[index])
        machine = Machine(
            node_name(index),
            zone_of(index),
            cpu_milli=room * POD_CPU_MILLI,
            memory_mebi=2 * room * POD_MEMORY_MEBI,
            pods=max(POD_SLOTS, room),
        )
        yield node_object(machine, rng)


def _owner(scenario: SyntheticScenario, size: SyntheticSize, index: int, rng: Random) -> SyntheticWorkload:
    name = f"{APPLICATIONS[index % len(APPLICATIONS)]}-{index:05d}"
    image = f"example.com/{name}:1.0"
    requests = {"cpu": f"{POD_CPU_MILLI}m", "memory": f"{POD_MEMORY_MEBI}Mi"}
    only = container(image, requests, {"memory": f"{2 * POD_MEMORY_MEBI}Mi"})
    spec = {"containers": [only], "priority": 0, **scenario.rules(index, name)}
    namespace = NAMESPACES[index * size.namespaces // size.owners]
    return workload("Deployment", namespace, name, _replicas(size, index), spec, rng=rng)


def _replicas(size: SyntheticSize, owner: int) -> int:
    return min(size.replicas, size.pods - owner * size.replicas)
