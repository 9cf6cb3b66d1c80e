"""One simulated cluster: what every actor is given."""

from __future__ import annotations

from dataclasses import dataclass

from restow.simulating.agenda import Agenda
from restow.simulating.chance import Chance
from restow.simulating.cluster_view import ClusterView
from restow.simulating.store import Store


@dataclass(slots=True, frozen=True)
class Simulation:
    """Time, chance, the objects, and the objects as one state."""

    agenda: Agenda
    chance: Chance
    store: Store
    view: ClusterView

    @staticmethod
    def at(now: int, seed: int) -> Simulation:
        """An empty cluster at a time."""
        agenda, chance = Agenda(now), Chance(seed)
        store = Store(agenda, chance)
        return Simulation(agenda, chance, store, ClusterView(store))
