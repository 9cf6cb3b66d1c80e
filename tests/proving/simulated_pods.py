"""The objects of a dump, simulated: where the replacement of an evicted pod lands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from builders import NOW
from restow.kube.manifests import Pod, manifest_of
from restow.kube.timestamps import SECOND, parse_time
from restow.simulating.actors import start_actors
from restow.simulating.api_server.eviction import evict
from restow.simulating.virtual_cluster import VirtualCluster

#: Seconds after which a replacement has a node if it ever gets one.
LATER: Final = 180


class Simulated:
    """The objects, with everybody who runs in a cluster."""

    def __init__(self, objects: Sequence[dict[str, Any]], seed: int) -> None:
        self.simulation = VirtualCluster.at(parse_time(NOW), seed)
        self.store = self.simulation.store
        start_actors(self.simulation)
        there = [each for each in objects if each["metadata"].get("namespace") != "nowhere"]
        for each in sorted(there, key=lambda each: each["kind"] == "Pod"):
            self.store.load(manifest_of(each))

    def run(self, seconds: int) -> None:
        """Let time pass."""
        clock = self.simulation.clock
        clock.run(clock.now + seconds * SECOND)

    def pods(self) -> dict[str, Pod]:
        """The pods by uid."""
        return {each.metadata.uid: each for each in self.store.list("Pod")}

    def landing_of(self, pod: Pod) -> list[str]:
        """Evict a pod; the nodes of its controller's new pods, empty for one that is on none."""
        before = self.pods()
        assert evict(self.store, pod.metadata.namespace, pod.metadata.name).is_evicted
        self.run(LATER)
        owner = pod.metadata.controller
        assert owner is not None
        new = [each for uid, each in self.pods().items() if uid not in before]
        return [each.node for each in new if (each.metadata.controller or owner).uid == owner.uid]
