"""NodeAffinity: ``nodeSelector`` and required affinity filter, preferred affinity scores.

A pod whose every required term names nodes (``metadata.name``) is offered those nodes alone: that is how DaemonSet pods
are scheduled. ``addedAffinity`` of the plugin's arguments applies to every pod of the profile. Source: Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.node_matching import matches, preferred_weights
from restow.cluster.nodes import NodePart
from restow.cluster.pod_values import PlacementRules
from restow.documents.findings import Issue, Path
from restow.kube.node_selection import (
    NAME_FIELD,
    NodeSelection,
    SelectorTerm,
    WeightedTerm,
    compile_preferred,
    preference_problem,
)
from restow.kube.objects import NodeAffinity as WireNodeAffinity
from restow.kube.objects import NodeSelector, PreferredSchedulingTerm
from restow.scheduling.framework.caches import LruCache
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import SchedulerPlugin, SchedulerPluginArgs
from restow.scheduling.framework.extension_points import (
    NO_PODS,
    PASSES,
    PROCEED,
    SKIP,
    CycleError,
    FilterResult,
    Outcome,
    PreFiltered,
    Scope,
    Scores,
    scaled,
)
from restow.scheduling.framework.requeueing import Action, ClusterEvent, Interest, NodeFacts, PodFacts, Resource
from restow.scheduling.sampling.relative_scores import Peaked, RelativeScores

NAME = "NodeAffinity"

_ENFORCED = Outcome(("node(s) didn't match scheduler-enforced node affinity",), unresolvable=True)
_MISMATCH = Outcome(("node(s) didn't match Pod's node affinity/selector",), unresolvable=True)
_CONFLICT = Outcome(("pod affinity terms conflict",), unresolvable=True)


class NodeAffinityArgs(SchedulerPluginArgs, frozen=True):
    """``addedAffinity``: what every pod of the profile requires of nodes."""

    added_affinity: WireNodeAffinity | None = None


def check(args: NodeAffinityArgs) -> list[Issue]:
    """Terms that can be read."""
    added = args.added_affinity
    if added is None:
        return []
    required_path = ("addedAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    preferred_path = ("addedAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
    return [
        *_unreadable(added.required, required_path),
        *_unreadable_preferred(added.preferred or (), preferred_path),
    ]


class NodeAffinity:
    """Filter and score."""

    name = NAME
    scope = Scope.NODE

    def __init__(self, context: Context, added: WireNodeAffinity | None = None) -> None:
        self._nodes = context.state.cluster.nodes
        self._pods = context.state.cluster.pods
        self._added_required = NodeSelection.compile(None, added.required if added else None)
        self._added_preferred = compile_preferred(added.preferred if added else None)
        self._has_added = added is not None
        self._look_at_nodes()
        self._nodes.follow(NodePart.POSITION | NodePart.ASKED_LABELS, self._look_at_nodes)

    def _look_at_nodes(self) -> None:
        self._enforced = matches(self._added_required, self._nodes)
        self._matching: LruCache[int, BoolArray] = LruCache()
        self._weights: LruCache[int, npt.NDArray[np.int64]] = LruCache()
        #: By rules and the highest weight.
        self._scores: LruCache[tuple[int, int], Scores] = LruCache()

    def applies_to(self, pod: int) -> bool:
        """Pods with a requirement; every pod where the scheduler has one of its own."""
        rules = self._rules(pod)
        return rules.has_required or rules.has_node_selector or self._has_added

    def key(self, pod: int) -> int:
        """Its node selector and affinity."""
        return int(self._pods.rules[pod])

    def prefilter(self, pod: int) -> PreFiltered:
        """Skip pods without any requirement; narrow those that name their nodes."""
        if not self.applies_to(pod):
            return SKIP
        names = _named_nodes(self._rules(pod).selection.terms)
        if names is None:
            return PROCEED
        if not names:
            return PreFiltered(failure=_CONFLICT)
        allowed = np.zeros(len(self._nodes), dtype=bool)
        allowed[[self._nodes.index[name] for name in names if name in self._nodes.index]] = True
        return PreFiltered(allowed=allowed)

    def affecting_pods(self, _pod: int) -> IntArray:
        """Pods do not matter."""
        return NO_PODS

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """Reject nodes by the scheduler's own affinity (``addedAffinity``) first, then by the pod's."""
        identifier = int(self._pods.rules[pod])
        matching = self._matching.get(identifier)
        if matching is None:
            matching = matches(self._rules(pod).selection, self._nodes)
            self._matching.put(identifier, matching)
        category = np.where(~self._enforced[nodes], 0, np.where(matching[nodes], PASSES, 1))
        return FilterResult(category, (_ENFORCED, _MISMATCH))

    def score(self, pod: int, nodes: IntArray) -> Scores | int | None:
        """Sum of the weights of the matching preferred terms, scaled to the best node."""
        weights = self._scored(pod)
        if weights is None or len(nodes) == 0:
            return None
        some = weights[nodes]
        return scaled(some, int(some.max()))

    def score_all(self, pod: int, feasible: BoolArray) -> Scores | None:
        """The scores of all nodes."""
        weights = self._scored(pod)
        if weights is None:
            return None
        key = self.key(pod), int((weights * feasible).max())
        known = self._scores.get(key)
        if known is None:
            known = scaled(weights, key[1]).astype(np.int16)
            self._scores.put(key, known)
        return known

    def relative(self, pod: int, nodes: IntArray) -> RelativeScores | None:
        """The scores in windows of the nodes."""
        weights = self._preferred(pod)
        return None if weights is None else Peaked.of(weights[nodes], scaled)

    def _scored(self, pod: int) -> Scores | None:
        """The weights that nodes are scored by; None where the pod prefers none."""
        if problem := preference_problem(self._rules(pod).preferred):
            raise CycleError(f'running PreScore plugin "{NAME}": {problem}')
        return self._preferred(pod)

    def _preferred(self, pod: int) -> Scores | None:
        identifier = int(self._pods.rules[pod])
        terms: tuple[WeightedTerm, ...] = (*self._added_preferred, *self._rules(pod).preferred)
        if not terms:
            return None
        weights = self._weights.get(identifier)
        if weights is None:
            weights = preferred_weights(terms, self._nodes)
            self._weights.put(identifier, weights)
        return weights

    def _rules(self, pod: int) -> PlacementRules:
        return self._pods.tables.rules[int(self._pods.rules[pod])]


def _named_nodes(terms: tuple[SelectorTerm, ...] | None) -> frozenset[str] | None:
    """The nodes that required terms name, where every term names some; None where one does not."""
    if not terms:
        return None
    named: set[str] = set()
    for term in terms:
        sets = [set(each.values) for each in term.fields if each.key == NAME_FIELD and each.operator == "In"]
        if not sets:
            return None
        named |= set.intersection(*sets)
    return frozenset(named)


def _unreadable(selector: NodeSelector | None, path: Path) -> Iterator[Issue]:
    for index, term in enumerate(NodeSelection.compile(None, selector).terms or ()):
        yield from _term_problems(term, f"nodeSelectorTerms[{index}].", (*path, "nodeSelectorTerms", index))


def _unreadable_preferred(terms: Iterable[PreferredSchedulingTerm], path: Path) -> Iterator[Issue]:
    """Terms without weight are not even read."""
    for index, weighted in enumerate(compile_preferred(terms)):
        if weighted.weight != 0:
            yield from _term_problems(weighted.term, "nodeSelectorTerms[0].", (*path, index))


def _term_problems(term: SelectorTerm, prefix: str, path: Path) -> Iterator[Issue]:
    return (Issue(path, problem.removeprefix(prefix)) for problem in term.problems)


def _matches_now(pod: PodFacts, event: ClusterEvent, args: NodeAffinityArgs) -> bool:
    """Hint: the node is what the pod requires, and was not before."""
    old: NodeFacts | None = event.old
    new: NodeFacts = event.new
    added = args.added_affinity
    if added is not None and not NodeSelection.compile(None, added.required).matches(new.name, new.labels):
        return False
    selection = pod.rules.selection
    return selection.matches(new.name, new.labels) and (old is None or not selection.matches(old.name, old.labels))


PLUGIN = SchedulerPlugin(
    NAME,
    ("preFilter", "filter", "preScore", "score"),
    lambda context, args: NodeAffinity(context, args.added_affinity),
    args=NodeAffinityArgs,
    check=check,
    weight=2,
    is_lenient=True,
    interests=(
        Interest(
            Resource.NODE,
            Action.ADD | Action.UPDATE_NODE_LABEL,
            _matches_now,
            "a node is added, or gets labels, that matches its node selector and affinity",
        ),
    ),
)
