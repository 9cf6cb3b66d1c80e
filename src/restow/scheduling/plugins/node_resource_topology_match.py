"""NodeResourceTopologyMatch: refuse nodes none of whose NUMA nodes has enough, and prefer those that fit well.

What NUMA nodes have is taken from the NodeResourceTopologies of the input (``numa.matching``, ``numa.zone_scores``). Each
distinct topology is asked once for each distinct set of containers. Without a cache the plugin believes the objects as they
are, and so does restow; with one (``cacheResyncPeriodSeconds``) pods that came since count on every NUMA node of theirs,
until an exporter has written again. Nodes that are left out meanwhile, because a pod is being bound
(``discardReservedNodes``) or a foreign one came, are not modelled: both last for moments. Source: NodeResourceTopologyMatch
of kubernetes-sigs/scheduler-plugins v0.33.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np
from msgspec import Struct, structs

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import ALWAYS_COUNTED, NodePart, Nodes
from restow.cluster.state import ClusterState
from restow.documents.findings import Issue
from restow.kube.objects import Int64, NodeResourceTopology
from restow.scheduling.framework.caches import PerNode, Watched
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import Availability, SchedulerPlugin, SchedulerPluginArgs, invalid
from restow.scheduling.framework.extension_points import (
    MAX_SCORE,
    NO_PODS,
    PASSES,
    PROCEED,
    SKIP,
    FilterResult,
    Outcome,
    PreFiltered,
    Scores,
    UnknownError,
)
from restow.scheduling.framework.requeueing import Action, Interest, Resource
from restow.scheduling.numa.matching import MatchedPod, MatchedTopology, less, pod_seen, refusal, topology_seen
from restow.scheduling.numa.shortage import shortage_seen
from restow.scheduling.numa.zone_scores import ZoneScoring, score
from restow.scheduling.plugins.resource_scoring import DEFAULT_RESOURCES, ResourceSpec

NAME: Final = "NodeResourceTopologyMatch"
KIND: Final = "NodeResourceTopology"
_REASONS: Final = (
    "cannot align pod",
    "cannot align container",
    "cannot align init container",
    "cannot align sidecar container",
)
_OUTCOMES: Final = tuple(Outcome((each,)) for each in _REASONS)
_UNKNOWN: Final = f"its scheduler looks at NUMA nodes, and objects of kind {KIND} are not known here"
#: After so many changed objects all are read again.
_MOST_CHANGES: Final = 100_000


class ZoneScoringStrategy(Struct, frozen=True):
    """How NUMA nodes are scored."""

    type: str = ""
    resources: tuple[ResourceSpec, ...] = ()


_DEFAULT_STRATEGY: Final = ZoneScoringStrategy(ZoneScoring.LEAST_ALLOCATED, DEFAULT_RESOURCES)


class TopologyCache(Struct, frozen=True, rename="camel"):
    """How the plugin keeps its cache up to date; nothing that restow decides depends on it."""

    foreign_pods_detect: str | None = None
    resync_method: str | None = None
    informer_mode: str | None = None
    resync_scope: str | None = None


class NodeResourceTopologyMatchArgs(SchedulerPluginArgs, frozen=True):
    """How nodes are scored, and whether pods count that the objects do not know of yet."""

    scoring_strategy: ZoneScoringStrategy | None = _DEFAULT_STRATEGY
    cache_resync_period_seconds: Int64 | None = None
    discard_reserved_nodes: bool = False
    cache: TopologyCache | None = None

    @property
    def strategy(self) -> ZoneScoringStrategy:
        """The strategy that is written, or the default one."""
        return self.scoring_strategy or _DEFAULT_STRATEGY


def check(args: NodeResourceTopologyMatchArgs) -> list[Issue]:
    """A known strategy."""
    written = args.strategy.type
    if written in set(ZoneScoring):
        return []
    return [invalid(("scoringStrategy", "type"), written, "invalid ScoringStrategyType")]


@dataclass(slots=True, frozen=True, eq=False)
class _NodeKind:
    """What nodes have in common that the plugin cannot tell apart."""

    topology: MatchedTopology
    #: The resources that they have at all.
    listed: frozenset[str]


class _NodeKinds:
    """What the nodes of a state say of themselves; nodes that are alike share one kind.

    Exporters write an object of one node or another all the time, so only what changed is read again.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state, self._nodes = state, state.cluster.nodes
        self._known: dict[bytes, _NodeKind] = {}
        #: By node, where there is one.
        self._objects: dict[int, NodeResourceTopology] = {}
        self.of: dict[int, _NodeKind] = {}
        #: The nodes whose objects came, changed or went.
        self.changes: list[int] = []
        self._version: int | None = None
        self.catch_up()

    def catch_up(self) -> bool:
        """Read what has changed; whether anything has."""
        version, before = self._state.version(KIND), len(self.changes)
        if version == self._version:
            return False
        self._version, found = version, self._state.cluster.kind(KIND)
        for node, name in enumerate(self._nodes.names if found or self.of else ()):
            now = found.get(("", name))
            if now is not self._objects.get(node):
                self._read(node, now)
        return len(self.changes) > before

    def changed_nodes(self, since: int) -> IntArray:
        """The nodes that changed after the first ``since`` changes."""
        return np.unique(np.array(self.changes[since:], dtype=np.int64))

    def _read(self, node: int, now: NodeResourceTopology | None) -> None:
        self.changes.append(node)
        if now is None:
            del self._objects[node], self.of[node]
            return
        self._objects[node], self.of[node] = now, self._kind(node, now)

    def _kind(self, node: int, found: NodeResourceTopology) -> _NodeKind:
        said = msgspec.json.encode((found.topology_policies, found.attributes, found.zones))
        key = said + self._nodes.lists_allocatable[:, node].tobytes()
        if key not in self._known:
            self._known[key] = _NodeKind(topology_seen(found), _listed_on(self._nodes, node))
        return self._known[key]


class NodeResourceTopologyMatch:
    """Filter and score on NUMA nodes."""

    name = NAME

    def __init__(self, context: Context, args: NodeResourceTopologyMatchArgs) -> None:
        self._state = context.state
        self._pods, self._nodes = context.state.cluster.pods, context.state.cluster.nodes
        self._strategy = ZoneScoring(args.strategy.type)
        self._weights = {each.name: each.weight for each in args.strategy.resources}
        self._counts_new = (args.cache_resync_period_seconds or 0) > 0 and not args.discard_reserved_nodes
        self._seen: dict[int, MatchedPod] = {}
        self._begin()
        self._nodes.follow(NodePart.POSITION | NodePart.AMOUNTS, self._begin)

    def _begin(self) -> None:
        """Read all objects."""
        self._kinds = _NodeKinds(self._state)
        self._keep()

    def _keep(self) -> None:
        """Keep answers from now on: with a cache, until pods come or go too."""
        watched: Watched = self._state if self._counts_new else self._kinds
        self._refused = PerNode(watched, len(self._nodes), self._refusals)
        self._scores = PerNode(watched, len(self._nodes), self._scored)

    def _catch_up(self) -> None:
        """Read what changed since the last time; kinds that no node is of any more are forgotten now and then."""
        if len(self._kinds.changes) > _MOST_CHANGES:
            self._begin()
        elif self._kinds.catch_up() and self._counts_new:
            self._keep()

    def applies_to(self, pod: int) -> bool:
        """Pods that ask for CPU, memory or a device."""
        return self._pod(int(self._pods.resources[pod])).concerns

    def prefilter(self, pod: int) -> PreFiltered:
        """Skip pods that ask for nothing, and all where no node has an object; UnknownError where that is not known."""
        if not self.applies_to(pod):
            return SKIP
        if not self._state.cluster.has_list(KIND):
            raise UnknownError(_UNKNOWN).of(NAME)
        self._catch_up()
        return PROCEED if self._kinds.of else SKIP

    def affecting_pods(self, _pod: int) -> IntArray:
        """Who leaves a node frees nothing until an exporter says so."""
        return NO_PODS

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """Reject nodes that cannot align the pod or one of its containers."""
        return FilterResult(self._refused.at(int(self._pods.resources[pod]), nodes), _OUTCOMES)

    def score(self, pod: int, nodes: IntArray) -> Scores | int:
        """0 to 100 by the strategy; 100 for pods that are not Guaranteed."""
        return self._scored_by(pod, lambda resources: self._scores.at(resources, nodes))

    def score_all(self, pod: int, _feasible: BoolArray) -> Scores | int:
        """The scores of all nodes."""
        return self._scored_by(pod, self._scores.of)

    def _scored_by(self, pod: int, find: Callable[[int], Scores]) -> Scores | int:
        self._catch_up()
        resources = int(self._pods.resources[pod])
        if not self._pod(resources).is_guaranteed:
            return MAX_SCORE
        return find(resources) if self._kinds.of else 0

    def _pod(self, resources: int) -> MatchedPod:
        seen = self._seen.get(resources)
        if seen is None:
            seen = self._seen[resources] = pod_seen(self._pods.tables.resources[resources])
        return seen

    def _refusals(self, resources: int, nodes: IntArray) -> Scores:
        pod = self._pod(resources)

        def of(kind: _NodeKind) -> int:
            reason = refusal(kind.topology, kind.listed, pod)
            return _REASONS.index(reason) if reason else PASSES

        return self._by_kind(nodes, PASSES, of)

    def _scored(self, resources: int, nodes: IntArray) -> Scores:
        pod = self._pod(resources)
        return self._by_kind(nodes, 0, lambda kind: score(self._strategy, self._weights, kind.topology, pod))

    def _by_kind(self, nodes: IntArray, otherwise: int, of: Callable[[_NodeKind], int]) -> Scores:
        """What is said of nodes; each kind of node is asked about once."""
        values, known = np.full(len(nodes), otherwise, dtype=np.int16), dict[_NodeKind, int]()
        for at, node in enumerate(nodes.tolist()):
            kind = self._kinds.of.get(node)
            if kind is not None:
                kind = self._with_new(node, kind)
                if kind not in known:
                    known[kind] = of(kind)
                values[at] = known[kind]
        return values

    def _with_new(self, node: int, kind: _NodeKind) -> _NodeKind:
        """The node as a cache has it."""
        if not self._counts_new:
            return kind
        pods = self._state.pods_on(node)
        came = pods[self._pods.node[pods] != node].tolist()
        if not came:
            return kind
        seen = (self._pod(int(self._pods.resources[each])) for each in came)
        return _NodeKind(less(kind.topology, seen), kind.listed)


def _listed_on(nodes: Nodes, node: int) -> frozenset[str]:
    """The resources that a node has at all."""
    listed = zip(nodes.resources, nodes.lists_allocatable[:, node].tolist(), strict=True)
    return frozenset(ALWAYS_COUNTED).union(name for name, is_listed in listed if is_listed)


def shortage_on(state: ClusterState, pod: int, node: int) -> str:
    """What a pod lacks on a node that the plugin refuses, a clause for people; by the object, whatever a cache adds."""
    pods, nodes = state.cluster.pods, state.cluster.nodes
    found = state.cluster.kind(KIND).get(("", nodes.names[node]))
    if found is None:
        return ""
    seen = pod_seen(pods.tables.resources[int(pods.resources[pod])])
    return shortage_seen(topology_seen(found), _listed_on(nodes, node), seen)


def _with_defaults(args: NodeResourceTopologyMatchArgs) -> NodeResourceTopologyMatchArgs:
    """CPU and memory count alike where a strategy names no resources, and a weight of 0 is one of 1."""
    resources = tuple(
        ResourceSpec(each.name, each.weight or 1) for each in args.strategy.resources or DEFAULT_RESOURCES
    )
    return structs.replace(args, scoring_strategy=ZoneScoringStrategy(args.strategy.type, resources))


PLUGIN = SchedulerPlugin(
    NAME,
    ("filter", "score", "reserve", "postBind"),
    NodeResourceTopologyMatch,
    args=NodeResourceTopologyMatchArgs,
    check=check,
    with_defaults=_with_defaults,
    availability=Availability.OPTIONAL,
    kinds=(KIND,),
    interests=(
        Interest(Resource.POD, Action.DELETE, words="a pod goes"),
        Interest(
            Resource.NODE,
            Action.ADD | Action.UPDATE_NODE_ALLOCATABLE,
            words="a node is added, or has other amounts than before",
        ),
        Interest(
            Resource.NODE_RESOURCE_TOPOLOGY, Action.ADD | Action.UPDATE, words="a NodeResourceTopology comes or changes"
        ),
    ),
)
