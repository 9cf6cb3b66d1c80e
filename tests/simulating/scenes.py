"""Simulated clusters for tests: nodes, everything that runs beside them, and time that passes."""

from __future__ import annotations

from typing import Any

from builders import a_node
from restow.kube.manifests import manifest_of
from restow.kube.timestamps import SECOND
from restow.simulating.actors import start_actors
from restow.simulating.virtual_cluster import VirtualCluster

#: 2026-01-01T00:00:00Z.
START = 1_767_225_600 * SECOND
MINUTE = 60 * SECOND


class Scene:
    """A cluster whose nodes are called n1, n2... and have room for 40 pods that request 100m."""

    def __init__(self, nodes: int = 3, *, seed: int = 1, cpu: str = "4") -> None:
        self.simulation = VirtualCluster.at(START, seed)
        self.store, self.clock = self.simulation.store, self.simulation.clock
        actors = start_actors(self.simulation)
        self.kubelets, (self.scheduler,) = actors.kubelets, actors.schedulers
        self.add_nodes(nodes, cpu=cpu)

    def add_nodes(self, nodes: int, *, cpu: str = "4") -> None:
        """So many nodes are there."""
        for number in range(1, nodes + 1):
            self.store.load(manifest_of(a_node(f"n{number}", cpu=cpu, memory="8Gi")))

    def run(self, seconds: float) -> Scene:
        """Let time pass."""
        self.clock.run(self.clock.now + int(seconds * SECOND))
        return self

    def settle(self, minutes: int = 60) -> Scene:
        """Let time pass until nothing is left to do."""
        assert self.clock.settle(self.clock.now + minutes * MINUTE), "the cluster is never quiet"
        self.check()
        return self

    def check(self) -> None:
        """The state is what follows from the objects."""
        state = self.simulation.view.state
        state.validate()
        there = state.cluster.pods.where(state.exists).tolist()
        assert [state.cluster.pods.full_name(row) for row in there] == sorted(
            f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in self.store.list("Pod")
        )
        assert (state.requested <= state.cluster.nodes.allocatable).all()

    def pods(self, app: str | None = None) -> list[Any]:
        """The pods that are there, by name."""
        found = [pod for pod in self.store.list("Pod") if app is None or (pod.metadata.labels or {}).get("app") == app]
        return sorted(found, key=lambda pod: pod.metadata.name)

    def names(self, app: str | None = None) -> list[str]:
        """Their names."""
        return [pod.metadata.name for pod in self.pods(app)]

    def get(self, kind: str, name: str) -> Any:
        """An object of the namespace ``default``."""
        return self.store.get(kind, "default", name)

    def delete(self, kind: str, name: str, **how: Any) -> None:
        """Delete one."""
        assert self.store.delete(kind, "default", name, **how)
