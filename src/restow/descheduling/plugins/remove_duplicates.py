"""RemoveDuplicates: replicas of one workload on the same node.

Pods are replicas of one another if they have the same owners and the same images. The first replica on a node is
never touched; of the others, a node keeps as many as make up its fair share: the replicas on all nodes, divided by the
nodes that the duplicates could run on, rounded up. Pods that the evictor protects are ignored: they are neither first nor
counted. Source: Descheduler 0.36, pkg/framework/plugins/removeduplicates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct, structs

from restow.cluster.interning import BoolArray, IdArray, IntArray, Interner, combine
from restow.cluster.node_matching import fails_to_parse
from restow.cluster.pod_columns import PodColumn, by_value
from restow.cluster.state import ClusterState
from restow.descheduling.framework import LandingCheck, Strategy, Suggestion, Suggestions, Verdict, View
from restow.descheduling.node_fit import OpenNodes
from restow.kube.objects import OwnerReference
from restow.policies.arguments import Namespaces, PluginArgs, check_namespaces
from restow.policies.codes import PlacementConstraint
from restow.policies.schema import FLATTENED, PluginSchema


class RemoveDuplicatesArgs(PluginArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """``pluginConfig[].args`` of RemoveDuplicates."""

    namespaces: Namespaces | None = None
    exclude_owner_kinds: tuple[str, ...] = ()


def _validate(args: RemoveDuplicatesArgs) -> list[str]:
    """Upstream's validation texts."""
    return check_namespaces(args.namespaces)


SCHEMA = PluginSchema(
    name="RemoveDuplicates",
    extension_points=("balance",),
    args=RemoveDuplicatesArgs,
    validate=_validate,
    renamed={"removeDuplicates": FLATTENED},
)


#: How many families are remembered between looks at the cluster: a cycle takes several, a daemon many.
_FAMILIES: Final = 1 << 16


class OwnerKey(NamedTuple):
    """Names a workload's replicas that run the same images; sorts like upstream's texts."""

    namespace: str
    kind: str
    name: str
    images: str


class Replicas(Struct, frozen=True):
    """The pods that could be replicas of one another, and what decides whether they are."""

    pods: IntArray
    #: The family of each pod: namespace, owners and images.
    family: IdArray
    #: The owners of each family; an owner that is named twice counts twice.
    owners: list[tuple[OwnerKey, ...]]
    #: Families with the same signature are replicas of one another.
    signature: IntArray


@dataclass(slots=True)
class Duplicates:
    """The duplicates of one owner."""

    #: Replicas on all listed nodes.
    replicas: list[int] = field(default_factory=list)
    #: The replicas that are not the first on their node, by node.
    by_node: dict[int, list[int]] = field(default_factory=dict)


def suggest(view: View, args: RemoveDuplicatesArgs) -> Suggestions:
    """Pods beyond the fair share of their node, owner by owner."""
    found = _duplicates(view, args)
    targets = _TargetNodes(view)
    for _, duplicates in sorted(found.items()):
        target_count = targets.count(pod for pods in duplicates.by_node.values() for pod in pods)
        if target_count < 2:
            continue
        share = -(-len(duplicates.replicas) // target_count)
        replicas = np.array(duplicates.replicas)
        accepts, cost = partial(_has_room, view, replicas, share), partial(_count, view, replicas)
        for node, pods in duplicates.by_node.items():
            node_name = view.state.cluster.nodes.names[node]
            reason = f"{len(pods) + 1} of {len(duplicates.replicas)} replicas on {node_name}, fair share {share}"
            for pod in pods[share - 1 :]:
                worse = partial(_has_as_many, view, replicas, pod, node)
                verdict = yield Suggestion(
                    pod, reason, PlacementConstraint.BETTER, accepts=accepts, worse=worse, cost=cost
                )
                if verdict is Verdict.TOTAL_LIMIT:
                    return
                if verdict is Verdict.NODE_LIMIT:
                    break


def watch(view: View, args: RemoveDuplicatesArgs) -> LandingCheck:
    """Objects to the landing of a replica on a node that already has its fair share."""
    replicas = _replicas(view, args)
    evictable = view.evictable(replicas.pods)
    signature = replicas.signature[replicas.family]
    targets = _TargetNodes(view)

    @cache
    def family(signed: int) -> tuple[IntArray, int]:
        """The replicas of one another, and how many of them a node may have."""
        pods = replicas.pods[evictable & (signature == signed)]
        open_nodes = targets.count(pods.tolist())
        return pods, -(-len(pods) // open_nodes) if open_nodes > 1 else len(pods)

    @cache
    def signature_of() -> dict[int, int]:
        return dict(zip(replicas.pods.tolist(), signature.tolist(), strict=True))

    def objects(replacement: int, nodes: IntArray) -> BoolArray:
        signed = signature_of().get(int(view.pods.replaces[replacement]))
        if signed is None:
            return np.zeros(len(nodes), dtype=bool)
        pods, share = family(signed)
        crowded: BoolArray = (share > 0) & (view.counts_on(pods, nodes) >= share)
        return crowded

    return objects


def _duplicates(view: View, args: RemoveDuplicatesArgs) -> dict[OwnerKey, Duplicates]:
    """Owners with duplicates, among the pods that may be evicted."""
    replicas = _admitted(view, _replicas(view, args))
    first = _first_on_node(view, replicas)
    found: defaultdict[OwnerKey, Duplicates] = defaultdict(Duplicates)
    families = replicas.family[~first]
    pods = replicas.pods[~first]
    for pod, node, family in zip(pods.tolist(), view.state.node[pods].tolist(), families.tolist(), strict=True):
        for owner in replicas.owners[family]:
            found[owner].by_node.setdefault(node, []).append(pod)
    for pod, family in zip(replicas.pods.tolist(), replicas.family.tolist(), strict=True):
        for owner in replicas.owners[family]:
            if owner in found:
                found[owner].replicas.append(pod)
    return found


def _has_room(view: View, replicas: IntArray, share: int, nodes: IntArray) -> BoolArray:
    """Which nodes would not exceed the fair share with one more replica."""
    return view.counts_on(replicas, nodes) < share


def _count(view: View, replicas: IntArray, nodes: IntArray) -> npt.NDArray[np.float64]:
    """The cost of one more replica on each node: how many the node has."""
    return view.counts_on(replicas, nodes).astype(np.float64)


def _has_as_many(view: View, replicas: IntArray, pod: int, source: int, nodes: IntArray) -> BoolArray:
    """Which nodes have at least as many replicas as the node that the pod leaves: landing there makes them more uneven."""
    counts = view.counts_on(replicas, np.append(nodes, source))
    as_many: BoolArray = counts[:-1] >= counts[-1] + (not view.state.exists[pod])
    return as_many


def _replicas(view: View, args: RemoveDuplicatesArgs) -> Replicas:
    """Pods with owners, none of an excluded kind, that decide about pods that are due, in order of nodes and pods."""
    families = view.once(_Families)
    running, of_pod = view.running_pods(args.namespaces, None), families.of_pod.values
    running = running & families.owned(frozenset(args.exclude_owner_kinds)).values
    if view.is_partial:
        running &= np.isin(of_pod, families.related(of_pod[view.due(np.flatnonzero(running))].tolist()))
    chosen = view.pods.where(running)
    chosen = chosen[np.argsort(view.state.node[chosen], kind="stable")]
    return Replicas(chosen, of_pod[chosen], families.owners, np.array(families.signatures, dtype=np.int64))


class _Families:
    """The families of all pods, also of those that come later."""

    def __init__(self, state: ClusterState) -> None:
        self._pods = pods = state.cluster.pods
        self._numbers: dict[tuple[int, ...], int] = {}
        self._interner: Interner[tuple[str, ...]] = Interner()
        #: By family.
        self.owners: list[tuple[OwnerKey, ...]] = []
        self.signatures: list[int] = []
        self._of_owner: defaultdict[OwnerKey, list[int]] = defaultdict(list)
        self._of_signature: defaultdict[int, list[int]] = defaultdict(list)
        self._owned: dict[frozenset[str], PodColumn[np.bool_]] = {}
        #: The family of each pod.
        self.of_pod = PodColumn(pods, self._find)

    def owned(self, excluded: frozenset[str]) -> PodColumn[np.bool_]:
        """Whether each pod has owners, none of an excluded kind."""
        if excluded not in self._owned:
            self._owned[excluded] = by_value(self._pods, "owners", "owners", partial(_are_owned, excluded))
        return self._owned[excluded]

    def related(self, families: Iterable[int]) -> list[int]:
        """The families that decide about some: of the same owners, and those whose pods may be first on a node instead."""
        owners = {owner for family in set(families) for owner in self.owners[family]}
        signatures = {self.signatures[family] for owner in owners for family in self._of_owner[owner]}
        return [family for signature in signatures for family in self._of_signature[signature]]

    def _find(self, rows: IntArray) -> IdArray:
        family, table = combine(self._pods.namespace[rows], self._pods.owners[rows], self._pods.images[rows])
        return np.array([self._number(*each) for each in table.tolist()], dtype=np.int32)[family]

    def _number(self, namespace: int, references: int, images: int) -> int:
        key, tables = (namespace, references, images), self._pods.tables
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self.owners)
            named, signature = _family(tables.namespaces[namespace], tables.owners[references], tables.images[images])
            self.owners.append(named)
            self.signatures.append(self._interner.id(signature))
            self._of_signature[self.signatures[-1]].append(known)
            for owner in named:
                self._of_owner[owner].append(known)
        return known


def _are_owned(excluded: frozenset[str], many: Iterable[Sequence[OwnerReference]]) -> list[bool]:
    return [bool(owners) and excluded.isdisjoint([each.kind for each in owners]) for owners in many]


@lru_cache(maxsize=_FAMILIES)
def _family(
    namespace: str, references: tuple[OwnerReference, ...], images: tuple[str, ...]
) -> tuple[tuple[OwnerKey, ...], tuple[str, ...]]:
    """The owners of a family, and its signature."""
    names = sorted(images)
    owners = tuple(OwnerKey(namespace, each.kind, each.name, "#".join(names)) for each in references)
    return owners, tuple(
        sorted(f"{namespace}/{each.kind}/{each.name}/{image}" for each in references for image in names)
    )


def _admitted(view: View, replicas: Replicas) -> Replicas:
    """The replicas that pass the evictor's filters, of the owners that have several on some node.

    Pods that share their node with a replica are candidates, so a refusal is recorded if they do not pass. The others only
    count, so no refusal is recorded for them.
    """
    spot = _spots(view, replicas)
    crowded = np.bincount(spot)[spot] > 1 if len(spot) else np.zeros(0, dtype=bool)
    owners = {owner for family in np.unique(replicas.family[crowded]).tolist() for owner in replicas.owners[family]}
    families, of_pod = np.unique(replicas.family, return_inverse=True)
    shared = [not owners.isdisjoint(replicas.owners[family]) for family in families.tolist()]
    related = np.array(shared, dtype=bool)[of_pod]
    alone = replicas.pods[related & ~crowded]
    admitted = np.zeros(len(view.pods), dtype=bool)
    admitted[view.admissible(replicas.pods[crowded])] = True
    admitted[alone[view.passing(alone)]] = True
    keep = admitted[replicas.pods]
    return structs.replace(replicas, pods=replicas.pods[keep], family=replicas.family[keep])


def _spots(view: View, replicas: Replicas) -> IdArray:
    """A number for each pod, the same for replicas of one another on the same node."""
    return combine(view.state.node[replicas.pods], replicas.signature[replicas.family])[0]


def _first_on_node(view: View, replicas: Replicas) -> BoolArray:
    """Which replicas are the first on their node; one entry for each of ``replicas.pods``."""
    first = np.zeros(len(replicas.pods), dtype=bool)
    first[np.unique(_spots(view, replicas), return_index=True)[1]] = True
    return first


class _TargetNodes:
    """Counts the listed nodes that duplicates could run on.

    Only taints and node selection decide, so full and cordoned nodes count. A pod with only one such node adds none, because
    it could not move. A selection that cannot be parsed matches every node, as upstream does.
    """

    def __init__(self, view: View) -> None:
        self._nodes = view.state.cluster.nodes
        self._listed = view.is_listed
        self._open = OpenNodes(self._nodes)
        self._pods = view.pods

    def count(self, pods: Iterable[int]) -> int:
        """Return how many nodes are open to some of these pods."""
        targets = np.zeros(len(self._nodes), dtype=bool)
        tables, tolerations_of, rules_of = self._pods.tables, self._pods.tolerations.item, self._pods.rules.item
        for tolerations, rules in {(tolerations_of(pod), rules_of(pod)) for pod in pods}:
            selection = tables.rules[rules].selection
            matching = self._open.selected(selection) | fails_to_parse(selection, self._nodes)
            nodes = self._listed & matching & self._open.tolerated(tables.tolerations[tolerations])
            if np.count_nonzero(nodes) > 1:
                targets |= nodes
        return int(np.count_nonzero(targets))


STRATEGY = Strategy(SCHEMA, suggest, watch=watch)
