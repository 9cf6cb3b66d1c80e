"""One cluster as it was observed: the part that never changes while a plan is made.

``ClusterStore`` takes wire objects in any order and ``snapshot`` makes the cluster of them; ``cluster.state`` lays over
it what changes. Objects are keyed by name, so the last of two wins, as it does in the API server's own store. The store
stays usable after a snapshot: objects may be replaced and removed, and a later snapshot has these changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from msgspec import structs

from restow.cluster.amounts import LARGEST
from restow.cluster.closed_nodes import FencedNode, fenced_nodes
from restow.cluster.left_out import ObjectKey, check_values, stand_in
from restow.cluster.node_store import ReadNode, beyond_sums, node_columns, node_index, read_node
from restow.cluster.nodes import Nodes
from restow.cluster.pod_store import PodStore, ReadPods
from restow.cluster.pod_values import PodNow
from restow.cluster.pods import Pods
from restow.cluster.usage_samples import QueryResult, UsageChange, UsageQuery
from restow.kube.excerpts import title
from restow.kube.objects import without_page

#: The kinds whose ``spec`` has a template of pods.
TEMPLATED: Final = frozenset(("ReplicaSet", "ReplicationController", "Deployment", "StatefulSet", "DaemonSet", "Job"))


def with_templates(kind: str, wire: Sequence[Any]) -> Sequence[Any]:
    """Objects of one kind as they are kept."""
    if kind == "ControllerRevision":
        return [without_page(each) for each in wire]
    return [_with_template(each) for each in wire] if kind in TEMPLATED else wire


def _with_template(controller: Any) -> Any:
    spec = controller.spec
    if spec.template is None:
        return controller
    kept = None if getattr(spec, "replicas", None) == 0 else without_page(spec.template)
    return structs.replace(controller, spec=structs.replace(spec, template=kept))


K = TypeVar("K")
V = TypeVar("V")

#: (namespace, name); the namespace of cluster-wide kinds is empty.
Key = tuple[str, str]


@dataclass(slots=True, frozen=True)
class ClusterSnapshot:
    """Nodes and pods as columns, every other object by kind and key."""

    nodes: Nodes
    pods: Pods
    others: Mapping[str, Mapping[Key, Any]]
    #: The objects that were given and are not in it, and why: a sentence that names the object.
    left_out: Mapping[ObjectKey, str] = field(default_factory=dict)
    #: Kinds that the source has and does not show. What they forbid is unknown and counts as forbidden; of a kind that
    #: an input just does not hold that is not said.
    missing: frozenset[str] = frozenset()
    #: The answers to the queries for usage that were made for it.
    usage: Mapping[UsageQuery, QueryResult] = field(default_factory=dict)
    #: What was moved lately, which figures of usage may not show yet.
    usage_changes: Sequence[UsageChange] = ()
    #: The minor version of the API server; None if the input does not name it, such as files.
    server_minor: int | None = None

    def kind(self, kind: str) -> Mapping[Key, Any]:
        """All objects of one kind other than Node and Pod, in canonical order; empty where the input has none."""
        return self.others.get(kind, {})

    def has_list(self, kind: str) -> bool:
        """Whether the input holds an object of a kind, or an empty list of it: otherwise its objects are unknown."""
        return kind in self.others

    def without(self, kinds: Collection[str]) -> ClusterSnapshot:
        """A copy that lacks kinds other than Node and Pod."""
        others = {kind: known for kind, known in self.others.items() if kind not in kinds}
        return replace(self, others=others, missing=frozenset(kinds))

    def counts(self) -> Mapping[str, int]:
        """How many objects there are, by kind."""
        others = {kind: len(known) for kind, known in self.others.items()}
        return {"Node": len(self.nodes), "Pod": len(self.pods)} | others

    def namespace_labels(self) -> Mapping[str, Mapping[str, str]]:
        """Labels by name of the namespaces that the input holds."""
        return {name: each.metadata.labels or {} for (_, name), each in self.kind("Namespace").items()}

    def priority_classes(self) -> Mapping[str, int]:
        """Value by name of the priority classes that the input holds."""
        return {name: each.value for (_, name), each in self.kind("PriorityClass").items()}


@dataclass(slots=True)
class _Kept:
    """Parts of a snapshot, to be shared with the next one."""

    nodes: Nodes | None = None
    #: The resources that the pods of that snapshot request.
    requested: frozenset[str] = frozenset()
    #: Objects of other kinds in order of their keys; a kind that has changed is not among them.
    others: dict[str, dict[Key, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class ClusterStore:
    """Collects wire objects and makes a Cluster of them."""

    _pods: PodStore = field(default_factory=PodStore)
    _nodes: dict[str, ReadNode] = field(default_factory=dict)
    _others: dict[str, dict[Key, Any]] = field(default_factory=dict)
    #: What of the last snapshot is still true.
    _kept: _Kept = field(default_factory=_Kept, init=False)
    #: How many objects were given again; the last of them counts.
    replaced: int = field(default=0, init=False)
    #: The objects that cannot be read, and why.
    left_out: dict[ObjectKey, str] = field(default_factory=dict, init=False)

    def kubelet_versions(self) -> set[str]:
        """The versions of the nodes' kubelets, as they write them."""
        return {each.wire.status.node_info.kubelet_version for each in self._nodes.values()}

    def add(self, kind: str, wire: Sequence[Any]) -> None:
        """Take a page of objects of one of ``KINDS``; where one cannot be read, an exception and none of them.

        InputError names an object that the API server would have refused.
        """
        self._take(kind, wire)
        if self.left_out:
            for each in wire:
                self.left_out.pop((kind, each.metadata.namespace, each.metadata.name), None)

    def absorb_pods(self, rows: ReadPods) -> None:
        """Take the pods of a ``PodStore``, as ``add`` takes a page of them."""
        self.replaced += self._pods.absorb(rows)
        if self.left_out:
            for row, name in enumerate(rows.columns["name"]):
                self.left_out.pop(("Pod", rows.names[rows.numbers["namespace"][row]], name), None)

    def leave_out(self, kind: str, namespace: str, name: str, why: str) -> None:
        """Skip an object that cannot be read; if it may protect pods, its substitute protects all that it could."""
        self.remove(kind, namespace, name)
        substitute = stand_in(kind, namespace, name)
        if substitute is not None:
            self._take(kind, (substitute,))
        self.left_out[kind, namespace, name] = why

    def _take(self, kind: str, wire: Sequence[Any]) -> None:
        if kind == "Pod":
            self.replaced += self._pods.add(wire)
        elif kind == "Node":
            self._kept.nodes = None
            self.replaced += _update(self._nodes, [(each.metadata.name, read_node(each)) for each in wire])
        else:
            known = self._others.setdefault(kind, {})
            self._kept.others.pop(kind, None)
            check_values(kind, wire)
            wire = with_templates(kind, wire)
            self.replaced += _update(known, [((each.metadata.namespace, each.metadata.name), each) for each in wire])

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """Forget an object; one that is not there is no error."""
        self.left_out.pop((kind, namespace, name), None)
        if kind == "Pod":
            self._pods.remove(namespace, name)
        elif kind == "Node":
            self._kept.nodes = None
            self._nodes.pop(name, None)
        else:
            self._kept.others.pop(kind, None)
            self._others.get(kind, {}).pop((namespace, name), None)

    def restart(self, kind: str) -> None:
        """Forget a kind before it is listed again."""
        self.take_over(kind, ClusterStore())

    def take_over(self, kind: str, other: ClusterStore) -> None:
        """Take the objects of a kind from another store instead of its own; the kind is unknown if the other has no list."""
        for key in [each for each in self.left_out if each[0] == kind]:
            del self.left_out[key]
        self.left_out.update((key, why) for key, why in other.left_out.items() if key[0] == kind)
        if kind == "Pod":
            self._pods = other._pods
            return
        self._kept.nodes = None
        self._kept.others.pop(kind, None)
        if kind == "Node":
            self._nodes = other._nodes
        elif kind in other._others:
            self._others[kind] = other._others[kind]
        else:
            self._others.pop(kind, None)

    def pod(self, namespace: str, name: str) -> PodNow | None:
        """A pod as it is now; None if there is none."""
        return self._pods.pod(namespace, name)

    def pods_of(self, namespace: str, owner: str) -> list[PodNow]:
        """The pods of a namespace that name an owner (a uid), in canonical order."""
        return self._pods.pods_of(namespace, owner)

    def pod_values(self, namespace: str, name: str) -> dict[str, Any] | None:
        """Everything that is known of a pod, as ``PodStore.values``."""
        return self._pods.values(namespace, name)

    def node(self, name: str) -> ReadNode | None:
        """A node as it is now; None if there is none."""
        return self._nodes.get(name)

    def keys(self, kind: str) -> set[Key]:
        """Namespace and name of all objects of a kind."""
        if kind == "Pod":
            return set(self._pods.keys())
        return {("", name) for name in self._nodes} if kind == "Node" else set(self._others.get(kind, ()))

    def gated(self) -> list[PodNow]:
        """The pods that wait behind the gate of steering, in canonical order."""
        return self._pods.gated()

    def takes_pods(self, node: str) -> bool:
        """Whether a node is there and not cordoned."""
        found = self._nodes.get(node)
        return found is not None and not found.wire.spec.unschedulable

    def fences(self) -> list[FencedNode]:
        """The nodes that carry restow's own taint, in canonical order."""
        found = fenced_nodes(each.wire for each in self._nodes.values())
        return sorted(found, key=lambda each: (each.name, each.place))

    def has_taints(self, node: str) -> bool | None:
        """Whether a node carries any taint; None if there is no such node."""
        found = self._nodes.get(node)
        return None if found is None else bool(found.wire.spec.taints)

    def opt_out(self, namespace: str) -> str | None:
        """The value of a namespace's annotation ``restow.dev/eviction``; None if absent or unknown."""
        found = self.other("Namespace", "", namespace)
        annotations = None if found is None else found.metadata.annotations
        return None if annotations is None else annotations.eviction

    def has_room(self, budget: str) -> bool:
        """Whether a disruption budget (namespace/name) allows an eviction; true for an unknown budget."""
        found = self.other("PodDisruptionBudget", *budget.split("/", 1))
        return found is None or found.status.disruptions_allowed > 0

    def other(self, kind: str, namespace: str, name: str) -> Any | None:
        """An object of another kind than Node and Pod; None if there is none."""
        return self._others.get(kind, {}).get((namespace, name))

    def snapshot(self) -> ClusterSnapshot:
        """The cluster as it is now, which never changes; what is the same as in the last one is shared with it."""
        kept = self._kept
        index = node_index(self._nodes) if kept.nodes is None else kept.nodes.index
        pods, beyond = self._pods_within_sums(index)
        requested = frozenset(name for each in pods.tables.resources for name in each.requests)
        if kept.nodes is None or kept.requested != requested:
            kept.nodes, kept.requested = node_columns(self._nodes, index, requested), requested
        for kind, known in self._others.items():
            if kind not in kept.others:
                kept.others[kind] = dict(sorted(known.items()))
        others = {kind: kept.others[kind] for kind in sorted(self._others)}
        return ClusterSnapshot(kept.nodes, pods, others, self.left_out | beyond)

    def _pods_within_sums(self, index: Mapping[str, int]) -> tuple[Pods, dict[ObjectKey, str]]:
        """The pods without those that make a node's sums too large, and why these are left out."""
        pods = self._pods.columns(index)
        beyond = beyond_sums(pods)
        if not beyond:
            return pods, {}
        keys = {(pods.tables.namespaces[pods.namespace[pod]], pods.names[pod]): pod for pod in beyond}
        reasons = {
            ("Pod", *key): f"{title('Pod', *key)}: with the other pods of its node, {beyond[pod]} is more than "
            f"{LARGEST}, the most that int64 holds"
            for key, pod in keys.items()
        }
        return self._pods.columns(index, keys.keys()), reasons


def _update(known: dict[K, V], given: Sequence[tuple[K, V]]) -> int:
    """Put objects in by their keys; returns how many of them replace one."""
    before = len(known)
    known.update(given)
    return before + len(given) - len(known)
