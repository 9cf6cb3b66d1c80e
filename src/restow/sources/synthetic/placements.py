"""Where the replicas of a uniform cluster run: pure arithmetic from (owner, replica) to a node.

Slot ``owner + replica * owners`` numbers the replicas so that those of one owner lie far apart; a placement lays the
slots out over the nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from restow.sources.synthetic.nodes import ZONES

if TYPE_CHECKING:
    from collections.abc import Callable

    #: ``(size, owner, replica) -> node``.
    Placement = Callable[["SyntheticSize", int, int], int]


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


#: Of this many owners one has two replicas on one node.
ALMOST = 100


def almost_evenly(size: SyntheticSize, owner: int, replica: int) -> int:
    """Evenly, but of one owner in a hundred the first two replicas share a node."""
    shared = owner % ALMOST == 0 and replica == 1
    return evenly(size, owner, 0 if shared else replica)


def hot_half(size: SyntheticSize, owner: int, replica: int) -> int:
    """Put on the first half of the nodes 46 pods for every 14 on the other half."""
    hot_nodes = size.nodes // 2
    hot_pods = -(-46 * size.pods_per_node // 30)
    cold_pods = max(2 * size.pods_per_node - hot_pods, 1)
    slot = size.slot(owner, replica)
    if slot < hot_nodes * hot_pods:
        return slot // hot_pods
    return min(hot_nodes + (slot - hot_nodes * hot_pods) // cold_pods, size.nodes - 1)


def any_zone(size: SyntheticSize, owner: int, replica: int) -> int:
    """Put a third of each owner's replicas in every zone, whichever zone the owner prefers."""
    return _in_zone(size, owner, replica, (owner + size.replicas * owner + replica) % len(ZONES))


def uneven_zones(size: SyntheticSize, owner: int, replica: int) -> int:
    """Of ten replicas 8, 1 and 1 per zone for every third owner, 7, 2 and 1 for the others: 65 moves in 15 owners."""
    eight = owner // len(ZONES) % 3 == 0
    share = replica * 10 // size.replicas
    place = 0 if share < (8 if eight else 7) else 1 if share < 9 else 2
    return _in_zone(size, owner, replica, (owner + place) % len(ZONES))


def _in_zone(size: SyntheticSize, owner: int, replica: int, zone: int) -> int:
    """Choose a node of a zone: the replicas of all owners take turns. With fewer nodes than zones, any node."""
    zone %= size.nodes
    nodes = -(-(size.nodes - zone) // len(ZONES))
    return zone + len(ZONES) * ((owner * size.replicas + replica) % nodes)
