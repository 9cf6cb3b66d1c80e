"""A cluster as plain objects, and where its pods are: what the reference implementations look at, one thing at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from restow.kube.node_selection import NodeSelection
from restow.kube.objects import NodeSelector, Taint, Toleration
from restow.scheduling.plugins.taint_toleration import scheduler_tolerates

if TYPE_CHECKING:
    from builders import Object
    from restow.cluster.state import ClusterState


@dataclass
class World:
    """Objects by kind, and which pods are on which node."""

    nodes: list[Object]
    pods: list[Object]
    others: list[Object] = field(default_factory=list)
    #: Node name of each placed pod by position in ``pods``.
    node_of: dict[int, str] = field(default_factory=dict)
    terminating: set[int] = field(default_factory=set)

    @staticmethod
    def of(state: ClusterState, objects: list[Object]) -> World:
        """The world as a state has it; its pods are in the state's order."""
        kinds = {kind: [each for each in objects if each["kind"] == kind] for kind in ("Node", "Pod")}
        by_name = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in kinds["Pod"]}
        columns = state.cluster.pods
        order = [by_name[tuple(columns.full_name(pod).split("/"))] for pod in range(len(columns))]
        counted = state.holds_resources() & (state.node >= 0)
        return World(
            nodes=sorted(kinds["Node"], key=lambda each: each["metadata"]["name"]),
            pods=order,
            others=[each for each in objects if each["kind"] not in kinds],
            node_of={p: state.cluster.nodes.names[state.node[p]] for p in range(len(order)) if counted[p]},
            terminating={p for p in range(len(order)) if state.terminating[p]},
        )

    def pods_on(self, node: Object) -> list[int]:
        return [pod for pod, name in self.node_of.items() if name == node["metadata"]["name"]]

    def kind(self, kind: str) -> list[Object]:
        return [each for each in self.others if each["kind"] == kind]

    def namespace_labels(self, name: str) -> dict[str, str] | None:
        found = [each for each in self.kind("Namespace") if each["metadata"]["name"] == name]
        return labels_of(found[0]) if found else None


def labels_of(thing: Object) -> dict[str, str]:
    return thing["metadata"].get("labels") or {}


def namespace_of(thing: Object) -> str:
    return thing["metadata"]["namespace"]


def selects(selector: Object | None, labels: dict[str, str] | None) -> bool:
    """Whether a label selector matches; None matches nothing."""
    if selector is None:
        return False
    labels = labels or {}
    equal = all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
    return equal and all(_holds(each, labels) for each in selector.get("matchExpressions") or [])


def is_empty(selector: Object | None) -> bool:
    """Whether a selector asks for nothing (None asks for the impossible)."""
    return selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions")


def _holds(requirement: Any, labels: dict[str, str]) -> bool:
    value = labels.get(requirement["key"])
    match requirement["operator"]:
        case "In":
            return value in requirement["values"]
        case "NotIn":
            return value not in requirement["values"]
        case "Exists":
            return value is not None
        case _:
            return value is None


def admits(node: Object, pod: Object) -> bool:
    """Whether node selector and required affinity of a pod let it onto a node."""
    wire = pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    required = None if wire is None else msgspec.convert(wire, NodeSelector)
    selection = NodeSelection.compile(pod["spec"].get("nodeSelector"), required)
    return selection.matches(node["metadata"]["name"], labels_of(node))


def tolerated(node: Object, pod: Object) -> bool:
    """Whether a pod tolerates every hard taint of a node."""
    tolerations = msgspec.convert(pod["spec"].get("tolerations") or [], list[Toleration])
    taints = msgspec.convert(node["spec"].get("taints") or [], list[Taint])
    return all(each.effect == "PreferNoSchedule" or scheduler_tolerates(tolerations, each) for each in taints)
