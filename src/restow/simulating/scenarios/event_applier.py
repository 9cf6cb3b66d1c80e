"""Events of a scenario, applied to a simulated cluster.

Each action changes the objects as ``kubectl`` does, or stops and starts kubelets. An action that names a missing object
changes nothing: it is kept as a failed event, and the run continues.

A drain evicts the pods of a node, and retries those whose budgets refuse; pods of DaemonSets and static pods stay. A
restart starts the containers of a node again, unless a pod is not to be restarted: then it has failed. Sources:
``kubectl drain`` 1.36 with ``--ignore-daemonsets --force --delete-emptydir-data``, and the kubelet 1.36 after a reboot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, singledispatch
from typing import Any, Final

from msgspec import structs

from restow.documents.findings import Path
from restow.kube.manifests import Manifest, Node, Pod
from restow.kube.objects import Taint
from restow.kube.timestamps import SECOND
from restow.simulating.api_server.changes import not_ready, over, started_again, with_metadata, with_spec
from restow.simulating.api_server.eviction import TOO_MANY_REQUESTS, evict
from restow.simulating.api_server.indexes import key_of
from restow.simulating.api_server.store import RefusedError, Store
from restow.simulating.controllers.cluster_autoscaler import stays_with_node
from restow.simulating.kubelets import Kubelets
from restow.simulating.scenarios import events
from restow.simulating.scenarios.references import DEFAULT_NAMESPACE, NodeChoice, Reference
from restow.simulating.scenarios.traces import Arrival
from restow.simulating.scenarios.usage import ScenarioUsage
from restow.simulating.virtual_cluster import VirtualCluster

#: Called with a pod that was evicted, and with the actor.
Evicted = Callable[[Pod, tuple[str, ...]], None]

#: How long it takes from one try to the next.
_RETRY: Final = 5 * SECOND


@dataclass(slots=True, frozen=True)
class FailedEvent:
    """What could not happen; ``time`` is in nanoseconds since the epoch."""

    time: int
    #: Where it stands in the scenario.
    place: Path
    message: str


class ActionError(Exception):
    """Why an action cannot be done."""


@dataclass(slots=True, frozen=True)
class EventApplier:
    """A simulated cluster on which events happen."""

    simulation: VirtualCluster
    kubelets: Kubelets
    usage: ScenarioUsage
    #: Called with each pod that a drain evicts.
    evicted: Evicted
    #: Called before each event.
    disturbed: Callable[[], None]
    failed_events: list[FailedEvent] = field(default_factory=list)

    def enter(self, timed: Iterable[events.TimedEvent]) -> None:
        """Have events happen at their times, counted from now."""
        for event in timed:
            self.simulation.clock.after(event.at, partial(self._happen, event))

    def enter_arrivals(self, arrivals: Iterable[Arrival]) -> None:
        """Have pods come and go at their times, counted from now."""
        for each in arrivals:
            self.simulation.clock.after(each.at, partial(self._arrive, each.pod))
            if each.departs is not None:
                self.simulation.clock.after(each.departs, partial(self._depart, each.pod))

    def _happen(self, event: events.TimedEvent) -> None:
        self.disturbed()
        try:
            act(event.action, self)
        except (ActionError, RefusedError) as error:
            self.failed_events.append(FailedEvent(self.simulation.clock.now, event.place, str(error)))

    def _arrive(self, pod: Manifest) -> None:
        try:
            self.simulation.store.create(pod)
        except RefusedError as error:
            self.failed_events.append(FailedEvent(self.simulation.clock.now, ("arrivals",), str(error)))

    def _depart(self, pod: Manifest) -> None:
        self.simulation.store.delete("Pod", pod.metadata.namespace or DEFAULT_NAMESPACE, pod.metadata.name)


@singledispatch
def act(action: events.Action, applier: EventApplier) -> None:
    """Do an action now; ActionError where there is nothing to do it to."""
    raise AssertionError(action, applier)


@act.register
def _apply(action: events.Apply, applier: EventApplier) -> None:
    for each in action.manifests:
        applier.simulation.store.apply(each)


@act.register
def _delete(action: events.Delete, applier: EventApplier) -> None:
    target = action.target
    _found(applier, target)
    applier.simulation.store.delete(target.kind, target.namespace, target.name, propagation=action.propagation)


@act.register
def _scale(action: events.ScaleWorkload, applier: EventApplier) -> None:
    _change(applier, action.target, lambda each: with_spec(each, replicas=action.replicas))


@act.register
def _set_labels(action: events.SetLabels, applier: EventApplier) -> None:
    _change(applier, action.target, lambda each: _labelled(each, action.labels))


@act.register
def _set_image(action: events.SetImage, applier: EventApplier) -> None:
    _change(applier, action.target, lambda each: _with_images(each, action.images, action.target))


@act.register
def _set_usage(action: events.SetUsage, applier: EventApplier) -> None:
    _found(applier, action.target)
    applier.usage.set(action.target, action.usage)


@act.register
def _add_taints(action: events.AddTaints, applier: EventApplier) -> None:
    _change_nodes(applier, action.nodes, lambda each: _tainted(each, action.taints))


@act.register
def _remove_taints(action: events.RemoveTaints, applier: EventApplier) -> None:
    _change_nodes(applier, action.nodes, lambda each: _untainted(each, action.taints))


@act.register
def _cordon(action: events.Cordon, applier: EventApplier) -> None:
    _change_nodes(applier, action.nodes, lambda each: with_spec(each, unschedulable=True))


@act.register
def _uncordon(action: events.Uncordon, applier: EventApplier) -> None:
    _change_nodes(applier, action.nodes, lambda each: with_spec(each, unschedulable=False))


@act.register
def _drain(action: events.Drain, applier: EventApplier) -> None:
    _change_nodes(applier, action.nodes, lambda each: with_spec(each, unschedulable=True))
    for node in _chosen(applier, action.nodes):
        _evict_pods(applier.simulation.store, node.metadata.name, applier.evicted)


@act.register
def _fail_node(action: events.FailNode, applier: EventApplier) -> None:
    for node in _chosen(applier, action.nodes):
        applier.kubelets.stop_node(node.metadata.name)


@act.register
def _restart_node(action: events.RestartNode, applier: EventApplier) -> None:
    for node in _chosen(applier, action.nodes):
        _restart_pods(applier.simulation.store, node.metadata.name)
        applier.kubelets.start_node(node.metadata.name)


def _found(applier: EventApplier, target: Reference) -> Any:
    found = applier.simulation.store.get(target.kind, target.namespace, target.name)
    if found is None:
        raise ActionError(f"there is no {target}")
    return found


def _change(applier: EventApplier, target: Reference, change: Callable[[Any], Any]) -> None:
    applier.simulation.store.update(change(_found(applier, target)))


def _chosen(applier: EventApplier, choice: NodeChoice) -> list[Node]:
    nodes: Iterator[Node] = iter(applier.simulation.store.list("Node"))
    found = [each for each in nodes if choice.chooses(each.metadata.name, each.metadata.labels or {})]
    if not found:
        raise ActionError(f"there is no node {choice}")
    return found


def _change_nodes(applier: EventApplier, choice: NodeChoice, change: Callable[[Node], Node]) -> None:
    for node in _chosen(applier, choice):
        applier.simulation.store.update(change(node))


def _labelled(manifest: Any, labels: Mapping[str, str | None]) -> Any:
    merged = {**(manifest.metadata.labels or {}), **labels}
    kept = {key: value for key, value in merged.items() if value is not None}
    return with_metadata(manifest, labels=kept or None)


def _with_images(manifest: Any, images: Mapping[str, str], target: Reference) -> Any:
    spec = manifest.spec if isinstance(manifest, Pod) else manifest.spec.template.spec
    containers = [{**each, "image": images.get(each.get("name", ""), each.get("image"))} for each in _containers(spec)]
    missing = images.keys() - {each.get("name") for each in containers}
    if missing:
        raise ActionError(f"{target} has no container {min(missing)}")
    changed = {**spec, "containers": containers}
    if isinstance(manifest, Pod):
        return structs.replace(manifest, spec=changed)
    return with_spec(manifest, template=structs.replace(manifest.spec.template, spec=changed))


def _containers(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(spec.get("containers") or ())


def _tainted(node: Node, taints: Iterable[Taint]) -> Node:
    """The node with taints, each of which replaces the one of its key and effect."""
    by_place = {(each.key, each.effect): each for each in (*(node.spec.taints or ()), *taints)}
    return with_spec(node, taints=tuple(by_place.values()))


def _untainted(node: Node, taints: Iterable[Taint]) -> Node:
    gone = {(each.key, each.effect) for each in taints}
    kept = [
        each for each in node.spec.taints or () if (each.key, each.effect) not in gone and (each.key, "") not in gone
    ]
    return with_spec(node, taints=tuple(kept) or None)


def _evict_pods(store: Store, node: str, evicted: Evicted) -> None:
    """Evict the pods that are on a node now, as soon as their budgets allow it."""
    for pod in store.on_node(node):
        if not stays_with_node(pod):
            _try(store, pod, evicted)


def _try(store: Store, pod: Pod, evicted: Evicted) -> None:
    """Ask for the eviction of a pod, unless it is another one by now, or on its way out."""
    now: Pod | None = store.get("Pod", *key_of(pod))
    if now is None or now.metadata.uid != pod.metadata.uid or now.metadata.is_terminating:
        return
    answer = evict(store, *key_of(pod))
    if answer.is_evicted:
        evicted(now, (events.DRAIN,))
    elif answer.code == TOO_MANY_REQUESTS:
        store.clock.after(_RETRY, lambda: _try(store, pod, evicted))


def _restart_pods(store: Store, node: str) -> None:
    """Stop the containers of a node's running pods; the kubelet makes them ready again."""
    for pod in list(store.on_node(node)):
        if pod.status.phase == "Running" and not pod.metadata.is_terminating:
            store.update(_restarted(pod, store.clock.text))


def _restarted(pod: Pod, now: str) -> Pod:
    if pod.spec.get("restartPolicy") == "Never":
        return over(pod, "Failed", now)
    return not_ready(started_again(pod), now)
