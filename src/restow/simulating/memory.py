"""Memory that runs out: a container that uses more than its limit is killed, a node that has too little left evicts pods.

What pods and nodes use is what their metrics say; where there are none, nothing of this happens. A node under pressure
evicts one pod every 10 s: first one that uses more than it requests, of these the one of the lowest priority, then the
one that uses most beyond its requests. It is tainted meanwhile, and for 5 minutes after. Source: the kubelet, Kubernetes
1.36: its eviction manager with the default threshold of 100 MiB.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from restow.kube.manifests import Node, Pod
from restow.kube.objects.pods import ContainerStateTerminated
from restow.kube.quantity import NANO_PER_UNIT, parse_quantity
from restow.kube.timestamps import SECOND
from restow.policies.arguments import SYSTEM_CRITICAL_PRIORITY
from restow.simulating.api_server.changes import (
    DISRUPTION_TARGET,
    over,
    status_of,
    with_condition,
    with_status,
)
from restow.simulating.api_server.indexes import Key, key_of
from restow.simulating.api_server.store import ObjectEvent
from restow.simulating.kubelets import Kubelets, is_running
from restow.simulating.virtual_cluster import VirtualCluster, WorkQueue

#: The reason of the condition of a pod that its kubelet has evicted.
TERMINATION_BY_KUBELET: Final = "TerminationByKubelet"
_KILLED: Final = ContainerStateTerminated("OOMKilled", 137)
_PRESSURE: Final = "MemoryPressure"
#: How much memory a node wants to keep, in bytes.
_THRESHOLD: Final = 100 << 20
#: From one look of the eviction manager to the next, and how long pressure is believed in that is over.
_INTERVAL: Final = 10 * SECOND
_TRANSITION: Final = 300 * SECOND
#: How long a container takes to fill its memory.
_FILLING: Final = SECOND


class MemoryPressure:
    """Looks after the memory of all nodes."""

    def __init__(self, simulation: VirtualCluster, kubelets: Kubelets) -> None:
        self._simulation = simulation
        self._store, self._clock = simulation.store, simulation.clock
        self._kubelets = kubelets
        self._pods: WorkQueue[Key] = WorkQueue(self._clock, self._look_at_pod)
        self._nodes: WorkQueue[str] = WorkQueue(self._clock, self._look_at_node)
        #: When each node was under pressure last, and when it evicted a pod last.
        self._pressed: dict[str, int] = {}
        self._evicted: dict[str, int] = {}
        self._store.subscribe("PodMetrics", self._on_usage_event)
        self._store.subscribe("NodeMetrics", self._on_node_usage_event)
        self._store.subscribe("Pod", self._on_pod_event)
        kubelets.listeners.append(self._nodes.add)

    def _on_usage_event(self, event: ObjectEvent) -> None:
        if event.new is not None:
            self._pods.add_after(key_of(event.new), _FILLING)

    def _on_pod_event(self, event: ObjectEvent) -> None:
        """Containers have started that may use too much."""
        old, new = event.old, event.new
        # Most clusters have no metrics at all, and pods change often.
        if new is None or self._store.get("PodMetrics", *key_of(new)) is None:
            return
        if is_running(new) and not (old is not None and is_running(old)):
            self._pods.add_after(key_of(new), _FILLING)

    def _on_node_usage_event(self, event: ObjectEvent) -> None:
        if event.new is not None:
            self._nodes.add(event.new.metadata.name)

    def _look_at_pod(self, key: Key) -> None:
        pod: Pod | None = self._store.get("Pod", *key)
        if pod is None or pod.node in self._kubelets.stopped or not is_running(pod):
            return
        limit = _limit(pod)
        if limit is not None and self._used(pod) > limit:
            self._kubelets.end_containers(pod, _KILLED)

    def _look_at_node(self, name: str) -> None:
        node: Node | None = self._store.get("Node", "", name)
        metrics = self._store.get("NodeMetrics", "", name)
        if node is None or metrics is None or name in self._kubelets.stopped:
            return
        now = self._clock.now
        held = self._held(name)
        if held is not None and held - _memory(metrics.content.get("usage")) < _THRESHOLD:
            self._pressed[name] = now
            self._report(node, "True", "KubeletHasInsufficientMemory")
            self._relieve(name)
        elif name in self._pressed and now - self._pressed[name] < _TRANSITION:
            self._nodes.add_after(name, self._pressed[name] + _TRANSITION - now)
        elif name in self._pressed:
            del self._pressed[name]
            self._report(node, "False", "KubeletHasSufficientMemory")

    def _report(self, node: Node, status: str, reason: str) -> None:
        if status_of(node.status.conditions, _PRESSURE, "False") != status:
            self._store.update(with_condition(node, _PRESSURE, status, self._clock.text, reason))

    def _relieve(self, name: str) -> None:
        """Evict a pod, unless one was evicted a moment ago."""
        next_look = self._evicted.get(name, -_INTERVAL) + _INTERVAL
        if next_look > self._clock.now:
            self._nodes.add_after(name, next_look - self._clock.now)
            return
        candidates = [pod for pod in self._store.on_node(name) if pod.is_active and not _is_critical(pod)]
        if not candidates:
            return
        self._evicted[name] = self._clock.now
        # The effect is known when the node's usage is next reported.
        self._evict(min(candidates, key=self._rank))

    def _rank(self, pod: Pod) -> tuple[bool, int, int]:
        """Who has to go first."""
        used = self._used(pod)
        beyond = used - self._requested(pod)
        return beyond <= 0, int(pod.spec.get("priority") or 0), -beyond

    def _evict(self, pod: Pod) -> None:
        now = self._clock.text
        evicted = with_condition(
            over(pod, "Failed", now, "Evicted"), DISRUPTION_TARGET, "True", now, TERMINATION_BY_KUBELET
        )
        message = "The node was low on resource: memory. "
        self._store.update(with_status(evicted, message=message))

    def _used(self, pod: Pod) -> int:
        metrics = self._store.get("PodMetrics", *key_of(pod))
        containers = [] if metrics is None else metrics.content.get("containers") or []
        return sum(_memory(each.get("usage")) for each in containers)

    def _requested(self, pod: Pod) -> int:
        view = self._simulation.view
        row = view.state.cluster.nodes.resource("memory")
        return 0 if row is None else int(view.state.requests_of(view.row(*key_of(pod)))[row])

    def _held(self, name: str) -> int | None:
        """The memory of a node in bytes; None if unknown."""
        state = self._simulation.view.state
        nodes, node = state.cluster.nodes, state.node_called(name)
        row = nodes.resource("memory")
        if row is None or not (nodes.lists_capacity[row, node] or nodes.lists_allocatable[row, node]):
            return None
        return int((nodes.capacity if nodes.lists_capacity[row, node] else nodes.allocatable)[row, node])


def _limit(pod: Pod) -> int | None:
    """The memory that the containers of a pod may use together, in bytes; None if one of them may use any."""
    limits = list(_limits(pod))
    return None if None in limits else sum(each for each in limits if each is not None)


def _limits(pod: Pod) -> Iterator[int | None]:
    for each in pod.spec.get("containers") or ():
        limits: dict[str, Any] = (each.get("resources") or {}).get("limits") or {}
        yield _bytes(limits.get("memory"))


def _memory(usage: dict[str, Any] | None) -> int:
    return _bytes((usage or {}).get("memory")) or 0


def _bytes(amount: Any) -> int | None:
    """A quantity in bytes; None where there is none, or one that cannot be read."""
    try:
        return None if amount is None else parse_quantity(str(amount)).nano // NANO_PER_UNIT
    except ValueError:
        return None


def _is_critical(pod: Pod) -> bool:
    return pod.is_mirror or int(pod.spec.get("priority") or 0) >= SYSTEM_CRITICAL_PRIORITY
