"""What is deleted because something else is: dependents, the content of namespaces, and pods that nobody ends.

The garbage collector deletes what belonged to an object that is gone, or releases what was to be kept; with propagation
Foreground from the inside out, and then the object. The namespace controller empties a namespace, its pods before the
rest, and looks again after half of their longest grace period; nothing new comes into it meanwhile. Pod garbage
collection (podgc) deletes pods whose node is gone, that are stuck on a node that is out of service, and the oldest of
too many that are over. Sources: these three controllers, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Any, Final

from restow.kube.manifests import Pod
from restow.kube.timestamps import SECOND
from restow.simulating.api_server.changes import DISRUPTION_TARGET, with_condition, with_metadata, with_status
from restow.simulating.api_server.indexes import Key, key_of
from restow.simulating.api_server.store import BACKGROUND, FOREGROUND, NAMESPACE_CONTENT, ORPHAN, ObjectEvent
from restow.simulating.controllers.node_lifecycle import NOT_READY, UNREACHABLE
from restow.simulating.simulated_cluster import time_of
from restow.simulating.virtual_cluster import DELIVERY, VirtualCluster, WorkQueue

#: How long the collector takes to find what an owner owns: longer than its controller takes to see the deletion.
_GRAPH: Final = 2 * DELIVERY


class GarbageCollector:
    """Looks at objects that have lost an owner, and at owners whose dependents are to be released."""

    def __init__(self, simulation: VirtualCluster) -> None:
        self._store = simulation.store
        self._queue: WorkQueue[tuple[str, Key]] = WorkQueue(simulation.clock, self._look)
        #: The uids of what is gone and can have been an owner. An owner that was never there says nothing: a dump may
        #: hold pods without their ReplicaSets.
        self._gone: set[str] = set()
        self._store.subscribe_all(self._on_event)

    def _on_event(self, event: ObjectEvent) -> None:
        old, new = event.old, event.new
        if new is None:
            if event.kind != "Pod":
                self._gone.add(old.metadata.uid)
            for each in self._store.dependents(old.metadata.uid):
                self._queue.add(each)
            for owner in old.metadata.owner_references or ():
                self._queue.add((owner.kind, (old.metadata.namespace, owner.name)))
        elif _waits(new, FOREGROUND):
            self._queue.add_after((event.kind, key_of(new)), _GRAPH)
        elif _waits(new, ORPHAN) or (old is None and new.metadata.owner_references):
            self._queue.add((event.kind, key_of(new)))

    def _look(self, item: tuple[str, Key]) -> None:
        kind, key = item
        found = self._store.get(kind, *key)
        if found is None:
            return
        if _waits(found, ORPHAN):
            self._release_dependents(found)
        elif _waits(found, FOREGROUND):
            self._delete_dependents(kind, found)
        owners = found.metadata.owner_references or ()
        if not owners or found.metadata.is_terminating:
            return
        kept = tuple(owner for owner in owners if owner.uid not in self._gone)
        if not kept:
            self._store.delete(kind, *key)
        elif kept != owners:
            self._store.update(with_metadata(found, owner_references=kept))

    def _release_dependents(self, owner: Any) -> None:
        for kind, key in self._store.dependents(owner.metadata.uid):
            each = self._store.get(kind, *key)
            others = tuple(one for one in each.metadata.owner_references if one.uid != owner.metadata.uid)
            self._store.update(with_metadata(each, owner_references=others or None))
        self._release(owner, ORPHAN)

    def _delete_dependents(self, kind: str, owner: Any) -> None:
        """Foreground deletion: delete dependents without another owner; release the owner when none is left."""
        dependents = self._store.dependents(owner.metadata.uid)
        if not dependents:
            self._release(owner, FOREGROUND)
        for of_kind, key in dependents:
            each = self._store.get(of_kind, *key)
            others = tuple(one for one in each.metadata.owner_references if one.uid != owner.metadata.uid)
            if others:
                self._store.update(with_metadata(each, owner_references=others or None))
                self._queue.add((kind, key_of(owner)))
            elif not each.metadata.is_terminating:
                inner = FOREGROUND if self._store.dependents(each.metadata.uid) else BACKGROUND
                self._store.delete(of_kind, *key, propagation=inner)

    def _release(self, owner: Any, finalizer: str) -> None:
        finalizers = tuple(each for each in owner.metadata.finalizers if each != finalizer)
        self._store.update(with_metadata(owner, finalizers=finalizers or None))


def _waits(owner: Any, finalizer: str) -> bool:
    """Whether a deleted object waits for its dependents to go or to be released."""
    return owner.metadata.is_terminating and finalizer in (owner.metadata.finalizers or ())


_NAMESPACE: Final = "Namespace"
_GRACE_PERIOD: Final = 30
#: How long it takes until it looks again at what else is left, in nanoseconds.
_AGAIN: Final = 15 * SECOND


class NamespaceController:
    """Empties one namespace at a time."""

    def __init__(self, simulation: VirtualCluster) -> None:
        self._store = simulation.store
        self._queue: WorkQueue[str] = WorkQueue(simulation.clock, self._sync)
        self._store.subscribe(_NAMESPACE, self._on_event)

    def _on_event(self, event: ObjectEvent) -> None:
        if event.new is not None and event.new.metadata.is_terminating:
            self._queue.add(event.new.metadata.name)

    def _sync(self, name: str) -> None:
        found = self._store.get(_NAMESPACE, "", name)
        if found is None or not found.metadata.is_terminating:
            return
        wait = self._delete_pods(name)
        if wait or self._delete_others(name):
            again = self._queue.retry_after if self._is_stuck(name) else self._queue.add_after
            again(name, wait or _AGAIN)
            return
        finalizers = tuple(each for each in found.metadata.finalizers or () if each != NAMESPACE_CONTENT)
        self._store.update(with_metadata(found, finalizers=finalizers or None))

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
            self._store.update(with_status(marked, phase="Failed"))
        self._store.delete("Pod", *key_of(pod), grace_period=0)
