"""Taint eviction: pods leave nodes whose NoExecute taints they do not tolerate, or only for a while.

``tolerationSeconds`` run from when the controller first saw the taint, and continues when taints change and are still
tolerated for a while only. Disruption budgets do not count. Source: the taint-eviction controller, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from restow.kube.manifests import Node, Pod
from restow.kube.objects import Taint, Toleration
from restow.kube.taints import tolerates
from restow.kube.timestamps import SECOND
from restow.simulating.conditions import DISRUPTION_TARGET, with_condition
from restow.simulating.indexes import Key, key_of
from restow.simulating.simulation import VirtualCluster
from restow.simulating.store import ObjectEvent
from restow.simulating.work_queue import WorkQueue

_EXPELS = "NoExecute"


def start(simulation: VirtualCluster) -> None:
    """Start the controller."""
    TaintEviction(simulation)


class TaintEviction:
    """Deletes pods, at once or when their time is over."""

    def __init__(self, simulation: VirtualCluster) -> None:
        self._store, self._clock = simulation.store, simulation.clock
        self._queue: WorkQueue[Key] = WorkQueue(simulation.clock, self._look)
        #: The pods whose time runs: their uid, and since when it does.
        self._since: dict[Key, tuple[str, int]] = {}
        self._store.subscribe("Node", self._on_node_event)
        self._store.subscribe("Pod", self._on_pod_event)

    def _on_node_event(self, event: ObjectEvent) -> None:
        before, after = _expelling(event.old), _expelling(event.new)
        if before != after:
            for pod in self._store.on_node((event.new or event.old).metadata.name):
                self._queue.add(key_of(pod))

    def _on_pod_event(self, event: ObjectEvent) -> None:
        old, new = event.old, event.new
        if new is None:
            self._since.pop(key_of(old), None)
        elif new.node and (old is None or not old.node or old.spec.get("tolerations") != new.spec.get("tolerations")):
            self._queue.add(key_of(new))

    def _look(self, key: Key) -> None:
        pod: Pod | None = self._store.get("Pod", *key)
        taints = _expelling(self._store.get("Node", "", pod.node)) if pod and pod.node else ()
        if pod is None or pod.metadata.is_terminating or not taints:
            self._since.pop(key, None)
            return
        seconds = _seconds(tolerations_of(pod), taints)
        if seconds is None:
            self._since.pop(key, None)
            return
        uid, since = self._since.get(key, ("", 0))
        if uid != pod.metadata.uid:
            since = self._clock.now
            self._since[key] = pod.metadata.uid, since
        left = since + seconds * SECOND - self._clock.now
        if left > 0:
            self._queue.add_after(key, left)
        else:
            self._expel(pod)

    def _expel(self, pod: Pod) -> None:
        self._since.pop(key_of(pod), None)
        self._store.update(with_condition(pod, DISRUPTION_TARGET, "True", self._clock.text, "DeletionByTaintManager"))
        self._store.delete("Pod", *key_of(pod))


def tolerations_of(pod: Pod) -> tuple[Toleration, ...]:
    """What a pod tolerates; nothing if that cannot be read."""
    return _read(msgspec.json.encode(pod.spec.get("tolerations") or ()))


@lru_cache(maxsize=4096)
def _read(text: bytes) -> tuple[Toleration, ...]:
    try:
        return msgspec.json.decode(text, type=tuple[Toleration, ...])
    except msgspec.ValidationError:
        return ()


def _expelling(node: Node | None) -> Sequence[Taint]:
    """The taints of a node that drive pods away."""
    return [] if node is None else [each for each in node.spec.taints or () if each.effect == _EXPELS]


def _seconds(tolerations: Sequence[Toleration], taints: Iterable[Taint]) -> int | None:
    """For how many seconds a pod tolerates all of some taints; 0 if it does not, None for always."""
    limits = []
    for taint in taints:
        found = next((each for each in tolerations if tolerates(each, taint)), None)
        if found is None:
            return 0
        if found.toleration_seconds is not None:
            limits.append(max(0, found.toleration_seconds))
    return min(limits, default=None)
