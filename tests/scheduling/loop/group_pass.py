"""One pass over the queue of a cluster with groups, told by the names of pods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from builders import Object
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.loop.scheduling_pass import schedule


class Pass:
    """What came of one pass."""

    def __init__(
        self, *objects: Object, minor: int = 36, profiles: Sequence[SchedulerProfile] = (DEFAULT_PROFILE,)
    ) -> None:
        self.state = ClusterState(replace(a_cluster(*objects), server_minor=minor))
        self.schedulers = Schedulers(Context.of(self.state), profiles)
        self.queue = self.schedulers.queue()
        names = self.state.cluster.pods.names
        self.decisions: dict[str, SchedulingDecision] = {
            names[each.pod]: each for each in schedule(self.schedulers, self.queue.pods)
        }
        self.gated = {names[pod]: why for pod, why in self.queue.gated.items()}

    def node(self, name: str) -> str:
        return self._name(self.decisions[name].node)

    def nominated(self, name: str) -> str:
        return self._name(self.decisions[name].nominated_node)

    def kept(self, name: str) -> str:
        """The node that is kept for a pod after the pass."""
        return self._name(self.schedulers.nominations.node(self.state.cluster.pods.names.index(name)))

    def victims(self, name: str) -> list[str]:
        return [self.state.cluster.pods.names[pod] for pod in self.decisions[name].victims]

    def message(self, name: str) -> str:
        return self.decisions[name].message

    def words(self, name: str) -> str:
        wait = self.decisions[name].group_wait
        return "" if wait is None else wait.words

    def placed(self) -> dict[str, str]:
        """The pods that have a node after the pass."""
        self.state.validate()
        pods = np.flatnonzero(self.state.exists & (self.state.node >= 0)).tolist()
        return {self.state.cluster.pods.names[pod]: self._name(int(self.state.node[pod])) for pod in pods}

    def _name(self, node: int) -> str:
        return self.state.cluster.nodes.names[node] if node >= 0 else ""
