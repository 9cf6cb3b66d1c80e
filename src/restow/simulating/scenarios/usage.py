"""What pods and nodes use in a simulation, because a scenario says so; as the objects that metrics.k8s.io serves.

A pod uses what was said last of it or of one of its controllers, a node what was said of it and what its pods use. As
long as nothing was said of anything, there are no metrics at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from restow.kube.manifests import Other, Pod
from restow.kube.manifests.cluster_objects import Metadata
from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT, parse_quantity
from restow.simulating.api_server.indexes import key_of
from restow.simulating.api_server.store import ObjectEvent
from restow.simulating.scenarios.references import Reference, controllers_of
from restow.simulating.virtual_cluster import VirtualCluster

_API_VERSION: Final = "metrics.k8s.io/v1beta1"

#: Billionths of each resource.
Amounts = Mapping[str, int]


@dataclass(slots=True)
class ScenarioUsage:
    """Keeps the metrics of a store up to date with what was said."""

    simulation: VirtualCluster
    #: With a number that says what was said later.
    _said: dict[Reference, tuple[int, Amounts]] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        self.simulation.store.subscribe("Pod", self._on_pod_event)
        self.simulation.store.subscribe("Node", self._on_node_event)

    def set(self, target: Reference, usage: Mapping[str, str]) -> None:
        """Set what a pod, each pod of a workload, or a node uses from now on; ValueError for a malformed quantity."""
        self.set_all({target: {resource: parse_quantity(text).nano for resource, text in usage.items()}})

    def set_all(self, usage: Mapping[Reference, Amounts]) -> None:
        """Set what pods, workloads and nodes use from now on."""
        self._count += 1
        self._said.update({target: (self._count, amounts) for target, amounts in usage.items()})
        for pod in self.simulation.store.list("Pod"):
            self._write_pod(pod)
        for node in self.simulation.store.list("Node"):
            self._write_node(node.metadata.name)

    def _on_pod_event(self, event: ObjectEvent) -> None:
        old, new = event.old, event.new
        if not self._said or (old and new and old.node == new.node and old.is_over == new.is_over):
            return
        if new is None:
            self.simulation.store.delete("PodMetrics", *key_of(old))
        else:
            self._write_pod(new)
        for node in {each.node for each in (old, new) if each is not None and each.node}:
            self._write_node(node)

    def _on_node_event(self, event: ObjectEvent) -> None:
        if self._said and event.new is None:
            self.simulation.store.delete("NodeMetrics", "", event.old.metadata.name)
        elif self._said and event.old is None:
            self._write_node(event.new.metadata.name)

    def _write_pod(self, pod: Pod) -> None:
        used = self._of_pod(pod)
        if used is None:
            self.simulation.store.delete("PodMetrics", *key_of(pod))
            return
        containers = [{"name": "pod", "usage": _texts(used)}]
        self._put(
            "PodMetrics", Metadata(name=pod.metadata.name, namespace=pod.metadata.namespace), containers=containers
        )

    def _write_node(self, name: str) -> None:
        if self.simulation.store.get("Node", "", name) is None:
            return
        _, own = self._said.get(Reference("Node", "", name), (0, {}))
        total = {"cpu": 0, "memory": 0} | dict(own)
        for pod in self.simulation.store.on_node(name):
            for resource, amount in (self._of_pod(pod) or {}).items():
                total[resource] = total.get(resource, 0) + amount
        self._put("NodeMetrics", Metadata(name=name), usage=_texts(total))

    def _of_pod(self, pod: Pod) -> Amounts | None:
        """What a pod uses; None for one that does not run, or of which nothing was said."""
        if not pod.node or pod.is_over:
            return None
        about = (Reference("Pod", *key_of(pod)), *controllers_of(pod, self.simulation.store))
        said = [self._said[each] for each in about if each in self._said]
        return max(said, key=lambda each: each[0])[1] if said else None

    def _put(self, kind: str, metadata: Metadata, **content: Any) -> None:
        self.simulation.store.apply(Other(kind, metadata, {"apiVersion": _API_VERSION, **content}))


def _texts(amounts: Amounts) -> dict[str, str]:
    """Amounts as the metrics server writes them: thousandths of a CPU, whole bytes."""
    return {
        resource: f"{nano // NANO_PER_MILLI}m" if resource == "cpu" else str(nano // NANO_PER_UNIT)
        for resource, nano in amounts.items()
    }
