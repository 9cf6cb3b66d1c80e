"""Nodes in trouble: the node lifecycle controller taints them, and the taint-eviction controller takes pods away.

What a node reports, or its silence, becomes taints that keep new pods away, at once. One that is not ready gets a
NoExecute taint too, and not all nodes of a zone get it at the same time; where most of a zone is in trouble, even later
or not at all. Pods leave nodes whose NoExecute taints they do not tolerate, or only for ``tolerationSeconds``, which
run from when the controller first saw the taint. Disruption budgets do not count. Sources: both, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from restow.kube.manifests import Node, Pod
from restow.kube.objects import Taint, Toleration
from restow.kube.taints import CORDON, tolerates
from restow.kube.timestamps import SECOND
from restow.simulating.api_server.changes import (
    DISRUPTION_TARGET,
    status_of,
    with_condition,
    with_spec,
)
from restow.simulating.api_server.indexes import Key, key_of
from restow.simulating.api_server.store import ObjectEvent
from restow.simulating.kubelets import Kubelets
from restow.simulating.virtual_cluster import VirtualCluster, WorkQueue

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
#: Taints by the type of a condition, where that is True.
_PRESSURES: Final = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
#: The taints that it gives and takes.
OWN_TAINTS: Final = frozenset((NOT_READY, UNREACHABLE, CORDON, *_PRESSURES.values()))
#: How long a node may be silent until it counts as unreachable.
GRACE_PERIOD: Final = 50 * SECOND
#: How long it takes from one node of a zone to the next, as long as most of the zone is well, and else.
_INTERVAL: Final = 10 * SECOND
_LONG_INTERVAL: Final = 100 * SECOND
#: From which share of nodes in trouble on a zone counts as disrupted, and from how many nodes on it is large.
_UNHEALTHY: Final = 0.55
_LARGE: Final = 50
_REGION: Final = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
_ZONE: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


class NodeLifecycle:
    """Taints nodes, and reacts to kubelets that stop."""

    def __init__(self, simulation: VirtualCluster, kubelets: Kubelets) -> None:
        self._store, self._clock = simulation.store, simulation.clock
        self._kubelets = kubelets
        self._queue: WorkQueue[str] = WorkQueue(simulation.clock, self._sync)
        self._zones: WorkQueue[str] = WorkQueue(simulation.clock, self._expel_one)
        #: The nodes of each zone that are to get the taint that drives pods away, in the order in which they came.
        self._waiting: defaultdict[str, dict[str, None]] = defaultdict(dict)
        #: The nodes that are in trouble.
        self._troubled: set[str] = set()
        #: When the next node of a zone may get it.
        self._next: dict[str, int] = {}
        self._store.subscribe("Node", self._on_event)
        kubelets.listeners.append(self._on_kubelet_change)

    def _on_event(self, event: ObjectEvent) -> None:
        self._queue.add((event.new or event.old).metadata.name)

    def _on_kubelet_change(self, name: str) -> None:
        if name in self._kubelets.stopped:
            since = self._kubelets.stopped[name]
            self._clock.at(since + GRACE_PERIOD, lambda: self._miss(name, since))

    def _miss(self, name: str, since: int) -> None:
        """Mark a node whose heartbeats stopped for too long, unless its kubelet was started in between."""
        node = self._store.get("Node", "", name)
        if node is None or self._kubelets.stopped.get(name) != since:
            return
        for kind in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure"):
            node = with_condition(node, kind, "Unknown", self._clock.text, "NodeStatusUnknown")
        self._store.update(node)
        self._make_unready(name)

    def _sync(self, name: str) -> None:
        node: Node | None = self._store.get("Node", "", name)
        self._troubled.discard(name)
        if node is None:
            return
        trouble = _trouble(node)
        if trouble:
            self._troubled.add(name)
        wanted = set(_keeping_away(node, trouble))
        others = [each for each in node.spec.taints or () if each.key not in OWN_TAINTS]
        expelling = [each for each in node.spec.taints or () if each.key in OWN_TAINTS and each.effect == "NoExecute"]
        if not trouble:
            expelling = []
        elif expelling:
            # From the one kind of trouble to the other it is a moment.
            expelling = [Taint(trouble, "", "NoExecute")]
        keeping = [Taint(key, "", "NoSchedule") for key in sorted(wanted)]
        self._retaint(node, [*others, *keeping, *expelling])
        zone = _zone(node)
        if trouble:
            if not expelling:
                self._waiting[zone][name] = None
        else:
            self._waiting[zone].pop(name, None)
        for each in self._waiting:
            self._zones.add(each)

    def _retaint(self, node: Node, taints: list[Taint]) -> None:
        if list(node.spec.taints or ()) != taints:
            self._store.update(with_spec(node, taints=tuple(taints) or None))

    def _make_unready(self, name: str) -> None:
        """The pods of a node that has fallen silent do not count as ready; one that can speak says so itself."""
        for pod in self._store.on_node(name):
            if pod.ready_since is not None:
                self._store.update(with_condition(pod, "Ready", "False", self._clock.text))

    def _expel_one(self, zone: str) -> None:
        """Give the next node of a zone the taint that drives its pods away."""
        if not self._troubled:
            return
        by_zone = self._troubles()
        if all(all(each) for each in by_zone.values()):
            # Then it is the control plane that is cut off.
            self._let_pods_stay()
            return
        interval = _interval(by_zone[zone]) if zone in by_zone else None
        if not self._waiting[zone] or interval is None:
            return
        wait = self._next.get(zone, 0) - self._clock.now
        if wait > 0:
            self._zones.add_after(zone, wait)
            return
        name = next(iter(self._waiting[zone]))
        del self._waiting[zone][name]
        node = self._store.get("Node", "", name)
        trouble = node and _trouble(node)
        if trouble:
            self._next[zone] = self._clock.now + interval
            self._retaint(node, [*(node.spec.taints or ()), Taint(trouble, "", "NoExecute")])
        if self._waiting[zone]:
            self._zones.add_after(zone, interval)

    def _troubles(self) -> dict[str, list[bool]]:
        """Which nodes of each zone are in trouble."""
        by_zone: defaultdict[str, list[bool]] = defaultdict(list)
        for node in self._store.list("Node"):
            by_zone[_zone(node)].append(bool(_trouble(node)))
        return by_zone

    def _let_pods_stay(self) -> None:
        """Take the taints away that drive pods away; the nodes wait for them again."""
        for node in self._store.list("Node"):
            lasting = [
                each for each in node.spec.taints or () if each.key not in OWN_TAINTS or each.effect != "NoExecute"
            ]
            if len(lasting) != len(node.spec.taints or ()):
                self._waiting[_zone(node)][node.metadata.name] = None
                self._retaint(node, lasting)


def _interval(troubles: Sequence[bool]) -> int | None:
    """The delay from one node of a zone to the next; None: no pod is evicted."""
    count = sum(troubles)
    if count <= 2 or count / len(troubles) < _UNHEALTHY or all(troubles):
        return _INTERVAL
    return _LONG_INTERVAL if len(troubles) > _LARGE else None


def _trouble(node: Node) -> str:
    """The taint of a node that is not ready; empty for a ready one, or one without the condition."""
    ready = status_of(node.status.conditions, "Ready", "True")
    return {"True": "", "False": NOT_READY}.get(ready, UNREACHABLE)


def _keeping_away(node: Node, trouble: str) -> Iterable[str]:
    """The taints that keep new pods away from a node."""
    if trouble:
        yield trouble
    if node.spec.unschedulable:
        yield CORDON
    for each in node.status.conditions or ():
        if each.status == "True" and each.type in _PRESSURES:
            yield _PRESSURES[each.type]


def _zone(node: Node) -> str:
    labels = node.metadata.labels or {}
    return "/".join(next((labels[key] for key in keys if key in labels), "") for keys in (_REGION, _ZONE))


_EXPELS = "NoExecute"


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
