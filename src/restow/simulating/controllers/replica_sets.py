"""The controllers of ReplicaSets and ReplicationControllers.

They adopt and release pods, create and delete what is missing or too much, and report it. Which pods these are says
``workloads.controllers``. Source: the ReplicaSet controller, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from msgspec import structs

from restow.kube.manifests import Pod
from restow.kube.manifests.workloads import ReplicaSetStatus
from restow.simulating.api_server.indexes import Key, key_of, selector_of
from restow.simulating.api_server.store import ObjectEvent, TerminatingError
from restow.simulating.controllers.owned_pods import available_in, claim, controlled, pod_from
from restow.simulating.virtual_cluster import ObjectQueue, VirtualCluster
from restow.workloads.controllers import BURST, ControlledPod, replica_set


class ReplicaSetController:
    """Syncs one ReplicaSet at a time."""

    _kind = "ReplicaSet"

    def __init__(self, simulation: VirtualCluster) -> None:
        self._simulation = simulation
        self._store = simulation.store
        self._queue = ObjectQueue(simulation.clock, self._sync, kind=self._kind)
        self._store.subscribe(self._kind, self._queue.on_wish)
        self._store.subscribe("Pod", self._on_pod_event)

    def _on_pod_event(self, event: ObjectEvent) -> None:
        if event.old is not None and event.new is not None and _counted(event.old) == _counted(event.new):
            # Most changes of a pod, such as that it gets a node and starts, change nothing that a status says.
            return
        self._queue.on_owned_event(event)
        if event.new is not None and event.new.metadata.controller is None:
            # Those that could adopt an orphan.
            for each in self._store.selecting(self._kind, event.new):
                self._queue.add(key_of(each))

    def _sync(self, key: Key) -> None:
        found = self._store.get(self._kind, *key)
        if found is None:
            return
        pods = claim(self._store, self._kind, found, selector_of(found))
        if not found.metadata.is_terminating:
            self._manage(found, pods)
        self._report(found, [pod for pod in pods if pod.is_active])

    def _manage(self, found: Any, pods: Sequence[Pod]) -> None:
        active = [pod for pod in pods if pod.is_active]
        if len(active) == found.spec.replicas:
            return
        surplus = len(active) > found.spec.replicas
        related = self._related(found) if surplus else ()
        actions = replica_set(
            found.spec.replicas, [self._seen(pod) for pod in active], self._simulation.clock.now, related
        )
        with suppress(TerminatingError):
            for _ in actions.create:
                self._store.create(pod_from(found.spec.template, self._kind, found))
        for pod in actions.delete:
            self._store.delete("Pod", found.metadata.namespace, pod.name)
        if max(len(actions.create), len(actions.delete)) == BURST:
            self._queue.add(key_of(found))

    def _related(self, found: Any) -> list[ControlledPod]:
        """The pods of the other ReplicaSets of the same Deployment."""
        owner = found.metadata.controller
        siblings = self._store.owned(owner.uid, self._kind) if owner else ()
        others = [each for each in siblings if each.metadata.uid != found.metadata.uid]
        return [self._seen(pod) for each in others for pod in self._store.owned(each.metadata.uid, "Pod")]

    def _seen(self, pod: Pod) -> ControlledPod:
        return controlled(pod, self._simulation.view.state.node_called(pod.node))

    def _report(self, found: Any, pods: Sequence[Pod]) -> None:
        """Write the status, and look again when a pod that is ready becomes available."""
        # What was managed above may have changed the object's version, not its spec.
        current = self._store.get(self._kind, *key_of(found))
        if current is None:
            return
        wanted = (found.spec.template.metadata.labels or {}).items()
        seconds = found.spec.min_ready_seconds
        waits = [available_in(pod, seconds, self._simulation.clock.now) for pod in pods]
        status = ReplicaSetStatus(
            replicas=len(pods),
            fully_labeled_replicas=sum(wanted <= (pod.metadata.labels or {}).items() for pod in pods),
            ready_replicas=sum(wait is not None for wait in waits),
            available_replicas=waits.count(0),
            observed_generation=found.metadata.generation,
        )
        self._store.update(structs.replace(current, status=status))
        self._queue.add_after_first(key_of(found), waits)


def _counted(pod: Pod) -> tuple[object, ...]:
    """What a sync goes by of one pod, where its controller does not have to choose among pods."""
    metadata = pod.metadata
    return metadata.owner_references, metadata.labels, metadata.is_terminating, pod.is_active, pod.ready_since


class ReplicationManager(ReplicaSetController):
    """The controller of ReplicationControllers, which is that of ReplicaSets for another kind."""

    _kind = "ReplicationController"
