"""Pod garbage collection: pods whose node is gone, that are stuck on a node that is out of service, and too many that are over.

Source: the pod garbage collector, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

from msgspec import structs

from restow.kube.manifests import Pod
from restow.kube.timestamps import SECOND
from restow.simulating.conditions import DISRUPTION_TARGET, with_condition
from restow.simulating.controllers.node_lifecycle import NOT_READY, UNREACHABLE
from restow.simulating.indexes import Key, key_of
from restow.simulating.simulation import VirtualCluster
from restow.simulating.store import ObjectEvent

#: How many pods may be there that are over.
MOST_TERMINATED: Final = 12_500
#: How long a node has to be gone, and how often the collector looks.
_QUARANTINE: Final = 40 * SECOND
_PERIOD: Final = 20 * SECOND
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"


class PodGarbageCollector:
    """Deletes pods at once, without their grace period."""

    def __init__(self, simulation: VirtualCluster, most_terminated: int = MOST_TERMINATED) -> None:
        self._store, self._clock = simulation.store, simulation.clock
        self._most_terminated = most_terminated
        #: The pods that are over, in the order in which they came to that.
        self._over: dict[Key, None] = {}
        self._store.subscribe("Pod", self._on_pod_event)
        self._store.subscribe("Node", self._on_node_event)

    def _on_pod_event(self, event: ObjectEvent) -> None:
        old, new = event.old, event.new
        if new is None:
            self._over.pop(key_of(old), None)
        elif new.is_over and key_of(new) not in self._over:
            self._over[key_of(new)] = None
            if len(self._over) == self._most_terminated + 1:
                self._clock.after(_PERIOD, self._delete_terminated)
        elif new.node and (old is None or not old.node) and self._store.get("Node", "", new.node) is None:
            self._clock.after(_QUARANTINE, lambda: self._delete_orphans(new.node))

    def _on_node_event(self, event: ObjectEvent) -> None:
        name = (event.new or event.old).metadata.name
        if event.new is None:
            self._clock.after(_QUARANTINE, lambda: self._delete_orphans(name))
        elif any(each.key == _OUT_OF_SERVICE for each in event.new.spec.taints or ()):
            self._clock.after(_PERIOD, lambda: self._delete_stuck(name))

    def _delete_orphans(self, node: str) -> None:
        if self._store.get("Node", "", node) is None:
            for pod in self._store.on_node(node):
                self._force(pod)

    def _delete_stuck(self, name: str) -> None:
        node = self._store.get("Node", "", name)
        keys = {each.key for each in (node.spec.taints or ())} if node else set()
        if _OUT_OF_SERVICE in keys and keys & {NOT_READY, UNREACHABLE}:
            for pod in self._store.on_node(name):
                if pod.metadata.is_terminating:
                    self._force(pod)

    def _delete_terminated(self) -> None:
        """The oldest of those that are over, as many as are too many."""
        pods: list[Pod] = [self._store.get("Pod", *key) for key in self._over]
        pods.sort(key=lambda pod: (pod.metadata.creation_timestamp or "", key_of(pod)))
        for pod in pods[: max(0, len(pods) - self._most_terminated)]:
            self._store.delete("Pod", *key_of(pod), grace_period=0)

    def _force(self, pod: Pod) -> None:
        if not pod.is_over:
            marked = with_condition(pod, DISRUPTION_TARGET, "True", self._clock.text, "DeletionByPodGC")
            # Its conditions stay as they are: no kubelet has seen it end.
            self._store.update(structs.replace(marked, status=structs.replace(marked.status, phase="Failed")))
        self._store.delete("Pod", *key_of(pod), grace_period=0)
