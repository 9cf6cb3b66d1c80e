"""One simulated cluster: what every actor is given."""

from __future__ import annotations

from dataclasses import dataclass

from restow.simulating.chance import Chance
from restow.simulating.simulated_cluster import SimulatedCluster
from restow.simulating.store import Store
from restow.simulating.virtual_clock import VirtualClock


@dataclass(slots=True, frozen=True)
class VirtualCluster:
    """Time, chance, the objects, and the objects as one state."""

    clock: VirtualClock
    chance: Chance
    store: Store
    view: SimulatedCluster

    @staticmethod
    def at(now: int, seed: int) -> VirtualCluster:
        """An empty cluster at a time."""
        clock, chance = VirtualClock(now), Chance(seed)
        store = Store(clock, chance)
        return VirtualCluster(clock, chance, store, SimulatedCluster(store))
