"""Watches a simulated cluster for expectations: reports its changes, those of one moment together.

A moment is over when time has moved on, so its changes are reported at the next change, or at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from restow.kube.manifests import Node, Pod, PodDisruptionBudget, kind_of
from restow.simulating.api_server.changes import DISRUPTION_TARGET, status_of
from restow.simulating.api_server.indexes import key_of
from restow.simulating.api_server.store import ObjectEvent
from restow.simulating.controllers.owned_pods import WITH_REPLICAS
from restow.simulating.memory import TERMINATION_BY_KUBELET
from restow.simulating.scenarios.expectations import NodeState, PodState
from restow.simulating.scenarios.judging import ExpectationVerdict, Judge
from restow.simulating.scenarios.observations import (
    Observation,
    ObservedEviction,
    ObservedNode,
    ObservedPod,
    ObservedScaling,
    PodKey,
)
from restow.simulating.scenarios.references import Reference, controllers_of
from restow.simulating.surging import wanted_without_surge
from restow.simulating.virtual_cluster import VirtualCluster

#: The kinds that have pods, and controllers themselves.
_BETWEEN: Final = ("ReplicaSet", "Job")
#: Who deleted a pod, by the reason of its condition; only actors that delete by themselves.
_DISPLACING: Final = {
    "PreemptionByScheduler": "preemption",
    "DeletionByTaintManager": "taint-eviction",
    TERMINATION_BY_KUBELET: "node-pressure",
}

#: The disruption controller knows no number of replicas for the pods, so it allows nothing.
_SYNC_FAILED: Final = "SyncFailed"


@dataclass(slots=True)
class RunObserver:
    """Reports a simulated cluster to a judge; made before the first object comes."""

    simulation: VirtualCluster
    judge: Judge
    #: Called with each observation after the judge.
    listeners: list[Callable[[Observation], None]] = field(default_factory=list)
    _start: int = field(init=False)
    _time: int = field(init=False)
    _pods: dict[PodKey, Pod | None] = field(default_factory=dict)
    _nodes: dict[str, Node | None] = field(default_factory=dict)
    #: Everything else that changes at the moment.
    _others: Observation = field(default_factory=Observation)
    _is_disturbed: bool = False
    _is_begun: bool = False
    #: What each pod requests, by its uid; a pod never requests anything else.
    _requests: dict[str, Mapping[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._start = self._time = self.simulation.clock.now
        self.simulation.store.subscribe("Pod", self._on_pod_event)
        self.simulation.store.subscribe("Node", self._on_node_event)
        self.simulation.store.subscribe("PodDisruptionBudget", self._on_budget_event)
        for kind in _BETWEEN:
            self.simulation.store.subscribe(kind, self._on_owner_event)
        for kind in WITH_REPLICAS:
            self.simulation.store.subscribe(kind, self._on_workload_event)

    def evicted(self, pod: Pod, by: tuple[str, ...], replacement: str = "") -> None:
        """Record an eviction: the pod as it was, the actor, and the name of its replacement if that is there already."""
        self._proceed()
        self._others.evictions.append(ObservedEviction(self._seen_pod(pod), by, replacement))

    def scaled(self, scaling: ObservedScaling) -> None:
        """Record that an autoscaler scales."""
        self._proceed()
        self._others.scalings.append(scaling)

    def disturbed(self) -> None:
        """Record that an event of the scenario happens."""
        self._proceed()
        self._is_disturbed = True

    def catch_up(self) -> bool:
        """Report the last moment, if it is over; whether everything is reported until now."""
        self._proceed()
        return not self._has_news

    def finish(self) -> tuple[ExpectationVerdict, ...]:
        """Return the verdicts of a run that ends now."""
        self._report()
        return self.judge.finish(self.simulation.clock.now - self._start)

    def _on_pod_event(self, event: ObjectEvent) -> None:
        self._proceed()
        pod: Pod = event.new or event.old
        self._pods[key_of(pod)] = event.new
        by = _DISPLACING.get(_disruption(event.new))
        if by is not None and event.old is not None and _disruption(event.old) != _disruption(event.new):
            self._others.displaced.append(ObservedEviction(self._seen_pod(event.old), (by,)))
        if event.new is None:
            self._requests.pop(pod.metadata.uid, None)
        elif pod.metadata.uid not in self._requests:
            self._requests[pod.metadata.uid] = self._requested(pod)

    def _on_owner_event(self, event: ObjectEvent) -> None:
        """What has lost its controller, or is gone, has pods that do not belong to that controller any more."""
        old, new = event.old, event.new
        if old is None or (new is not None and new.metadata.controller == old.metadata.controller):
            return
        self._proceed()
        for pod in self.simulation.store.owned(old.metadata.uid, "Pod"):
            self._pods[key_of(pod)] = pod

    def _on_workload_event(self, event: ObjectEvent) -> None:
        """Workloads whose replicas changed."""
        old, new = _desired(event.old), _desired(event.new)
        if old != new:
            self._proceed()
            each = event.new or event.old
            self._others.desired[Reference(kind_of(each), *key_of(each))] = new

    def _on_node_event(self, event: ObjectEvent) -> None:
        self._proceed()
        self._nodes[(event.new or event.old).metadata.name] = event.new

    def _on_budget_event(self, event: ObjectEvent) -> None:
        """What lets no pod go any more, or lets one go again."""
        old, new = (each is not None and _allows_none(each) for each in (event.old, event.new))
        if old != new:
            self._proceed()
            self._others.blocked_budgets[key_of(event.new or event.old)] = new

    def _proceed(self) -> None:
        """Report the moment before, if time has moved on."""
        if self.simulation.clock.now > self._time:
            self._report()
            self._time = self.simulation.clock.now

    def _report(self) -> None:
        # The first moment is reported even for an empty cluster: that it is empty counts.
        if self._is_begun and not self._has_news:
            return
        self._is_begun = True
        pods = {key: None if pod is None else self._seen_pod(pod) for key, pod in self._pods.items()}
        nodes = {name: None if node is None else self._seen_node(node) for name, node in self._nodes.items()}
        seen = replace(
            self._others, time=self._time - self._start, pods=pods, nodes=nodes, is_disturbed=self._is_disturbed
        )
        self._pods, self._nodes, self._others, self._is_disturbed = {}, {}, Observation(), False
        for listener in (self.judge.observe, *self.listeners):
            listener(seen)

    @property
    def _has_news(self) -> bool:
        others = self._others
        return any((self._pods, self._nodes, others.evictions, others.desired, others.blocked_budgets, others.scalings))

    def _requested(self, pod: Pod) -> Mapping[str, int]:
        view = self.simulation.view
        amounts = view.state.requests_of(view.row(*key_of(pod))).tolist()
        return {
            name: amount for name, amount in zip(view.state.cluster.nodes.resources, amounts, strict=False) if amount
        }

    def _seen_pod(self, pod: Pod) -> ObservedPod:
        return ObservedPod(
            pod.metadata.namespace,
            pod.metadata.name,
            pod.metadata.labels or {},
            pod.node,
            frozenset(_pod_states(pod)),
            tuple(controllers_of(pod, self.simulation.store)),
            self._requests.get(pod.metadata.uid, {}),
        )

    def _seen_node(self, node: Node) -> ObservedNode:
        nodes = self.simulation.view.state.cluster.nodes
        row = nodes.index.get(node.metadata.name)
        amounts = () if row is None else nodes.allocatable[:, row].tolist()
        room = dict(zip(nodes.resources, amounts, strict=False))
        return ObservedNode(node.metadata.name, node.metadata.labels or {}, frozenset(_node_states(node)), room)


def _allows_none(budget: PodDisruptionBudget) -> bool:
    """Whether a budget protects pods and lets none of them go, as the disruption controller has written it."""
    status = budget.status
    if status.disruptions_allowed or not status.observed_generation:
        return False
    return bool(status.expected_pods) or any(each.reason == _SYNC_FAILED for each in status.conditions or ())


def _desired(workload: Any) -> int:
    """The replicas of a workload; none if it does not exist."""
    return 0 if workload is None else wanted_without_surge(workload)


def _disruption(pod: Pod | None) -> str:
    """Why a pod is to go; empty if unknown."""
    conditions = pod.status.conditions or () if pod is not None else ()
    return next((each.reason or "" for each in conditions if each.type == DISRUPTION_TARGET), "")


def _pod_states(pod: Pod) -> Iterator[PodState]:
    if pod.status.phase == "Succeeded":
        yield "succeeded"
    elif pod.status.phase == "Failed":
        yield "failed"
    elif pod.metadata.is_terminating:
        yield "terminating"
    else:
        yield "any"
        yield "scheduled" if pod.node else "pending"
        yield "unready" if pod.ready_since is None else "ready"
        if pod.status.phase == "Running":
            yield "running"


def _node_states(node: Node) -> Iterator[NodeState]:
    yield "any"
    # A node without the condition counts as ready, as it does for the node lifecycle controller.
    yield "ready" if status_of(node.status.conditions, "Ready", "True") == "True" else "unready"
    if node.spec.unschedulable:
        yield "cordoned"
