"""The namespace controller: everything in a namespace that is deleted goes, its pods before the rest.

As long as there are pods it looks again after half of their longest grace period. Nothing new comes into the namespace
meanwhile. Source: the namespace controller, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

from msgspec import structs

from restow.kube.timestamps import SECOND
from restow.simulating.indexes import key_of
from restow.simulating.pod_rows import time_of
from restow.simulating.simulation import VirtualCluster
from restow.simulating.store import NAMESPACE_CONTENT, ObjectEvent
from restow.simulating.work_queue import WorkQueue

KIND: Final = "Namespace"
_GRACE_PERIOD: Final = 30
#: How long it takes until it looks again at what else is left, in nanoseconds.
_AGAIN: Final = 15 * SECOND


def start(simulation: VirtualCluster) -> None:
    """Start the controller."""
    NamespaceController(simulation)


class NamespaceController:
    """Empties one namespace at a time."""

    def __init__(self, simulation: VirtualCluster) -> None:
        self._store = simulation.store
        self._queue: WorkQueue[str] = WorkQueue(simulation.clock, self._sync)
        self._store.subscribe(KIND, self._on_event)

    def _on_event(self, event: ObjectEvent) -> None:
        if event.new is not None and event.new.metadata.is_terminating:
            self._queue.add(event.new.metadata.name)

    def _sync(self, name: str) -> None:
        found = self._store.get(KIND, "", name)
        if found is None or not found.metadata.is_terminating:
            return
        wait = self._delete_pods(name)
        if wait or self._delete_others(name):
            again = self._queue.retry_after if self._is_stuck(name) else self._queue.add_after
            again(name, wait or _AGAIN)
            return
        finalizers = tuple(each for each in found.metadata.finalizers or () if each != NAMESPACE_CONTENT)
        metadata = structs.replace(found.metadata, finalizers=finalizers or None)
        self._store.update(structs.replace(found, metadata=metadata))

    def _delete_pods(self, name: str) -> int:
        """Delete all pods; how long to wait for those that are not gone at once, in nanoseconds."""
        pods = list(self._store.list("Pod", name))
        for pod in pods:
            self._store.delete("Pod", *key_of(pod))
        seconds = [int(pod.spec.get("terminationGracePeriodSeconds", _GRACE_PERIOD)) for pod in pods]
        return (max(seconds) // 2 + 1) * SECOND if self._store.list("Pod", name) else 0

    def _is_stuck(self, name: str) -> bool:
        """Whether what is left are pods that should be gone by now: their kubelets do not answer."""
        pods, now = self._store.list("Pod", name), self._store.clock.now
        return bool(pods) and all(time_of(pod.metadata.deletion_timestamp) < now for pod in pods)

    def _delete_others(self, name: str) -> bool:
        """Delete everything else; whether something is held."""
        for kind in self._store.kinds():
            for each in list(self._store.list(kind, name)):
                self._store.delete(kind, *key_of(each))
        return any(self._store.list(kind, name) for kind in self._store.kinds())
