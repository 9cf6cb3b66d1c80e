"""Which of the best nodes a pod goes to, where only one of them can be taken.

A plan names all nodes that could win; a scheduler has to choose. Ties are broken at random. In clusters of 100 and more
nodes only some feasible nodes are looked at, and the search for them begins where the last one ended, so that all nodes
have their turn. Source: nextStartNodeIndex and selectHost, Kubernetes 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.loop.schedulers import Schedulers


@dataclass(slots=True)
class NodeChooser:
    """Draws nodes; all profiles share one."""

    chance: Random
    #: Where the next search begins, in visiting order.
    start: int = 0

    def node(self, schedulers: Schedulers, decision: SchedulingDecision) -> int:
        """The node for a pod that gets one, on the state on which that was decided."""
        best, self.start = schedulers.scheduler_of(decision.pod).search(decision, self.start)
        return int(self.chance.choice(best.tolist()))
