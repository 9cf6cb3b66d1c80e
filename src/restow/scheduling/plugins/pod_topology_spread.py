"""PodTopologySpread: pods of a kind are spread over zones, nodes or any other topology domains.

A hard constraint rejects nodes whose domain would exceed the emptiest one by more than ``maxSkew``; with fewer domains
than ``minDomains`` the emptiest counts as empty; soft constraints prefer nodes in emptier domains, weighted so that
topologies with few domains are not drowned out by those with many. Terminating pods do not count. Source: Kubernetes
1.36.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from msgspec import structs

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import NodePart
from restow.documents.findings import Issue, Path
from restow.kube.labels import EVERYTHING, Selector
from restow.kube.objects import TopologySpreadConstraint
from restow.scheduling.framework.context import Context, selected
from restow.scheduling.framework.declaration import (
    SchedulerPlugin,
    SchedulerPluginArgs,
    duplicate,
    forbidden,
    invalid,
    not_a_label,
    not_supported,
    required,
)
from restow.scheduling.framework.extension_points import (
    NO_PODS,
    PASSES,
    PROCEED,
    SKIP,
    Categories,
    CycleError,
    FilterResult,
    Outcome,
    PreFiltered,
    Scores,
    among,
)
from restow.scheduling.framework.pod_counts import NO_DOMAIN, Counts, Domains, Topologies, Tracker
from restow.scheduling.plugins.spread_domains import DomainCounter
from restow.scheduling.plugins.spread_scores import (
    ConstraintCounts,
    ScoredConstraint,
    SpreadClassScores,
    SpreadScoreClasses,
    WindowedSpread,
    normalised,
    raw_scores,
)
from restow.scheduling.plugins.spread_terms import (
    HOSTNAME,
    INTERESTS,
    Defaulting,
    SpreadCompiler,
    SpreadTerm,
    SpreadTerms,
)
from restow.scheduling.sampling.relative_scores import RelativeScores

NAME = "PodTopologySpread"

_MISMATCH = "node(s) didn't match pod topology spread constraints"
_OUTCOMES = (Outcome((f"{_MISMATCH} (missing required label)",), unresolvable=True), Outcome((_MISMATCH,)))
_UNLABELLED, _SKEWED = range(len(_OUTCOMES))
_HARD_ERROR = f'running PreFilter plugin "{NAME}": get constraints from pod: '
_SOFT_ERROR = f'running PreScore plugin "{NAME}": calculating preScoreState: '
#: The least number of pods in a domain where there is no domain.
_NO_MINIMUM = 2**31 - 1

_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_DEFAULTING = ("System", "List")


class PodTopologySpreadArgs(SchedulerPluginArgs, frozen=True):
    """The constraints of pods without constraints of their own; ``defaulting_type`` System or List."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = "System"

    @property
    def defaulting(self) -> Defaulting:
        """The type, once it is known to be valid."""
        return "List" if self.defaulting_type == "List" else "System"


def check(args: PodTopologySpreadArgs) -> list[Issue]:
    """Constraints without a selector, and only where defaultingType is List."""
    problems: list[Issue] = []
    path: Path = ("defaultingType",)
    if args.defaulting_type not in _DEFAULTING:
        problems.append(not_supported(path, args.defaulting_type, _DEFAULTING))
    elif args.defaulting_type == "System" and args.default_constraints:
        problems.append(invalid(path, "System", "when .defaultConstraints are not empty"))
    for index, constraint in enumerate(args.default_constraints):
        path = ("defaultConstraints", index)
        problems += _constraint_problems(constraint, path)
        if any(_same(constraint, other) for other in args.default_constraints[:index]):
            same = f"{{{constraint.topology_key}, {constraint.when_unsatisfiable}}}"
            problems.append(duplicate(path, same))
    return problems


class PodTopologySpread:
    """Filter and score."""

    name = NAME

    def __init__(
        self,
        context: Context,
        defaulting: Defaulting = "System",
        default_constraints: Sequence[TopologySpreadConstraint] = (),
    ) -> None:
        self._context = context
        self._nodes = context.state.cluster.nodes
        self._pods = context.state.cluster.pods
        self._compiler = SpreadCompiler(context.state.cluster, defaulting, default_constraints)
        self._topologies = Topologies(self._nodes)
        self._domains = DomainCounter(context.state.cluster, self._topologies, context.counts)
        #: What a hard constraint with an empty selector found when the cycle began, int64[node] by namespace.
        self._before: dict[int, Counts] = {}
        self._class_scores = SpreadClassScores()
        #: The pod that was scored last, the numbers of rows written and of changes then, and what its soft constraints found.
        self._kinds: tuple[tuple[int, int, int], SpreadScoreClasses | None] = ((-1, -1, -1), None)
        #: The pods that were asked for last, by selector and namespace.
        self._selection: tuple[tuple[Selector, int], Tracker] | None = None
        self._nodes.follow(NodePart.POSITION, self._forget)

    def _forget(self) -> None:
        self._before, self._kinds = {}, ((-1, -1, -1), None)

    def applies_to(self, pod: int) -> bool:
        """Pods with hard constraints, or with constraints that cannot be read."""
        terms = self._compiler.terms(pod)
        return terms.hard_problem is not None or bool(terms.hard)

    def prefilter(self, pod: int) -> PreFiltered:
        """Skip pods without hard constraints."""
        terms = self._compiler.terms(pod)
        if terms.hard_problem is not None:
            raise CycleError(f"{_HARD_ERROR}obtaining pod's hard topology spread constraints: {terms.hard_problem}")
        if any(_is_empty(term) for term in terms.hard):
            self._before[int(self._pods.namespace[pod])] = self._all(pod).copy()
        return PROCEED if terms.hard else SKIP

    def affecting_pods(self, pod: int) -> IntArray:
        """Pods that a hard constraint counts."""
        selectors = [EVERYTHING if _is_empty(term) else term.selector for term in self._compiler.terms(pod).hard]
        return np.concatenate([NO_PODS, *(self._selected(pod, each).members for each in selectors)])

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """Reject nodes by the first constraint, in the pod's order, that would be violated there."""
        hard = self._compiler.terms(pod).hard
        keys = tuple(term.topology_key for term in hard)
        category = self._violations(pod, hard[0], keys, nodes)
        for term in hard[1:]:
            category = np.where(category == PASSES, self._violations(pod, term, keys, nodes), category)
        return FilterResult(category, _OUTCOMES)

    def signature(self, pod: int) -> Hashable:
        """Where the pods are that its soft constraints count, and whether it is one; with hard ones, whose pod it is."""
        terms, pods = self._compiler.terms(pod), self._pods
        if terms.hard or terms.hard_problem is not None or terms.soft_problem is not None:
            return int(pods.namespace[pod]), int(pods.labels[pod]), int(pods.owners[pod])
        labels = pods.tables.labels[pods.labels[pod]]
        return tuple((term.selector.matches(labels), self._where(pod, term)) for term in terms.soft)

    def _where(self, pod: int, term: SpreadTerm) -> Hashable:
        """The nodes that have pods which count, and how many each has."""
        if not term.selector.requirements:
            return None
        return self._context.counts.where(self._selected(pod, term.selector))

    def score(self, pod: int, nodes: IntArray) -> Scores | int | None:
        """Fewer pods in the domains of a node are better; nodes that lack a topology key get nothing."""
        terms = self._compiler.terms(pod)
        if len(nodes) and terms.soft and self._are_everywhere(terms):
            kinds = self._class_scores.kinds([self._found_at(pod, term, nodes) for term in terms.soft])
            if kinds is not None:
                return kinds.score()
        return among(self, pod, nodes, len(self._nodes))

    def score_all(self, pod: int, feasible: BoolArray) -> Scores | int | None:
        """The scores of all nodes."""
        terms = self._compiler.terms(pod)
        if terms.soft_problem is not None:
            raise CycleError(f"{_SOFT_ERROR}obtaining pod's soft topology spread constraints: {terms.soft_problem}")
        if not terms.soft:
            return None
        kinds = self._score_classes(pod, terms)
        if kinds is not None:
            return kinds.score_all(feasible)
        keys = _required(terms)
        labelled = self._domains.with_all(keys)
        scored = feasible & labelled
        number = int(np.count_nonzero(scored))
        if number == 0:
            return 0
        constraints = [self._scored_constraint(pod, term, keys) for term in terms.soft]
        raw = raw_scores(constraints, [_size(constraint, scored, number) for constraint in constraints])
        lowest, highest = int(np.where(scored, raw, _NO_MINIMUM).min()), int((raw * scored).max())
        scores = normalised(raw, lowest, highest)
        return scores if labelled.all() else scores * labelled

    def relative(self, pod: int, nodes: IntArray) -> RelativeScores | None:
        """The scores in windows of the nodes."""
        terms = self._compiler.terms(pod)
        if not terms.soft:
            return None
        kinds = self._score_classes(pod, terms)
        if kinds is not None:
            return kinds.relative(nodes)
        keys = _required(terms)
        scored = self._domains.with_all(keys)[nodes]
        counted = nodes if scored.all() else nodes[scored]
        constraints = [self._scored_constraint(pod, term, keys) for term in terms.soft]
        return WindowedSpread.of([constraint.at(counted) for constraint in constraints], scored)

    def _violations(self, pod: int, term: SpreadTerm, keys: tuple[str, ...], nodes: IntArray) -> Categories:
        """The verdict of one constraint on some nodes, by ``maxSkew`` and the least number of domains."""
        counted = self._domains.counted(pod, term, keys)
        domains = counted.domains
        totals = domains.totals(self._arrivals(pod)) if _is_empty(term) else self._count(pod, term, domains)
        minimum = 0
        if len(counted.existing) >= term.min_domains:
            minimum = int(totals[counted.existing].min(initial=_NO_MINIMUM))
        labels = self._pods.tables.labels[self._pods.labels[pod]]
        most = term.max_skew + minimum - int(term.selector.matches(labels))
        verdict = np.where(totals > most, _SKEWED, PASSES)
        verdict[NO_DOMAIN] = _UNLABELLED
        return verdict[self._topologies.domains(term.topology_key).of_node[nodes]]

    def _score_classes(self, pod: int, terms: SpreadTerms) -> SpreadScoreClasses | None:
        """The nodes by kind, where all have the labels and are of few kinds; asked for twice where not all are scored."""
        question = pod, len(self._pods.written), len(self._context.state.changes)
        if self._kinds[0] != question:
            complete = self._are_everywhere(terms)
            kinds = self._class_scores.kinds([self._found(pod, term) for term in terms.soft]) if complete else None
            self._kinds = question, kinds
        return self._kinds[1]

    def _are_everywhere(self, terms: SpreadTerms) -> bool:
        """Whether all nodes have the labels that soft constraints ask for."""
        return all(self._domains.everywhere(term.topology_key) for term in terms.soft)

    def _found_at(self, pod: int, term: SpreadTerm, nodes: IntArray) -> ConstraintCounts:
        """What one constraint finds at some nodes of a cluster whose nodes all have the topology key."""
        if term.topology_key != HOSTNAME:
            of_node = self._topologies.domains(term.topology_key).of_node[nodes]
            return ConstraintCounts(term.max_skew, self._in_domains(pod, term), of_node)
        if not term.selector.requirements:
            return ConstraintCounts(term.max_skew, np.zeros(len(nodes), dtype=np.int32), None)
        counts = self._context.counts.staying_on(self._selected(pod, term.selector), nodes)
        return ConstraintCounts(term.max_skew, counts, None)

    def _found(self, pod: int, term: SpreadTerm) -> ConstraintCounts:
        """What one constraint finds in a cluster whose nodes all have the topology key."""
        if term.topology_key == HOSTNAME:
            return ConstraintCounts(term.max_skew, self._on_nodes(pod, term), None)
        of_node = self._topologies.domains(term.topology_key).of_node
        return ConstraintCounts(term.max_skew, self._in_domains(pod, term), of_node)

    def _on_nodes(self, pod: int, term: SpreadTerm) -> Counts:
        """As ``_count``, of each node."""
        if not term.selector.requirements:
            return np.zeros(len(self._nodes), dtype=np.int32)
        return self._context.counts.staying_by_node(self._selected(pod, term.selector), self._topologies.nodes)

    def _in_domains(self, pod: int, term: SpreadTerm) -> Counts:
        """How many pods each domain has of a topology whose key all nodes have."""
        return self._count(pod, term, self._domains.counted(pod, term, (term.topology_key,)).domains)

    def _scored_constraint(self, pod: int, term: SpreadTerm, keys: tuple[str, ...]) -> ScoredConstraint:
        """What one constraint finds at each node."""
        labelled = self._domains.with_all((term.topology_key,))
        if term.topology_key == HOSTNAME:
            return ScoredConstraint(term.max_skew, self._on_nodes(pod, term), labelled, None)
        counted = self._domains.counted(pod, term, keys)
        topology = self._topologies.domains if keys else self._topologies.complete
        domain = topology(term.topology_key).of_node
        return ScoredConstraint(term.max_skew, self._count(pod, term, counted.domains)[domain], labelled, domain)

    def _count(self, pod: int, term: SpreadTerm, domains: Domains) -> Counts:
        """How many pods each domain has that the constraint counts; a selector that asks for nothing counts nothing."""
        if not term.selector.requirements:
            return np.zeros(domains.count, dtype=np.int32)
        return self._staying(pod, term.selector, domains)

    def _arrivals(self, pod: int) -> Counts:
        """How many pods more than at the beginning of the cycle each node has.

        An empty selector counts no pods, and yet every pod that is tried out on a node or off it.
        Source: updateWithPod, Kubernetes 1.36.
        """
        return self._all(pod) - self._before[int(self._pods.namespace[pod])]

    def _all(self, pod: int) -> Counts:
        return self._staying(pod, EVERYTHING, self._topologies.nodes)[1:]

    def _staying(self, pod: int, selector: Selector, domains: Domains) -> Counts:
        return self._context.counts.count(self._selected(pod, selector), domains).staying

    def _selected(self, pod: int, selector: Selector) -> Tracker:
        # Most pods have one selector for all constraints.
        question = selector, int(self._pods.namespace[pod])
        if self._selection is None or self._selection[0] != question:
            self._selection = question, selected(self._context, (selector, frozenset(question[1:])))
        return self._selection[1]


def _required(terms: SpreadTerms) -> tuple[str, ...]:
    """The labels that a node must have to be scored."""
    return tuple(term.topology_key for term in terms.soft) if terms.requires_all_keys else ()


def _size(constraint: ScoredConstraint, scored: BoolArray, number: int) -> int:
    """How many domains the ``number`` scored nodes have."""
    if constraint.domain is None:
        return number
    return int(np.count_nonzero(np.bincount(constraint.domain if number == len(scored) else constraint.domain[scored])))


def _is_empty(term: SpreadTerm) -> bool:
    return term.selector.selectable and not term.selector.requirements


def _constraint_problems(constraint: TopologySpreadConstraint, path: Path) -> Iterator[Issue]:
    key, action = constraint.topology_key, constraint.when_unsatisfiable
    if constraint.max_skew <= 0:
        yield invalid((*path, "maxSkew"), constraint.max_skew, "not in valid range (0, inf)")
    if not key:
        yield required((*path, "topologyKey"), "can not be empty")
    else:
        yield from not_a_label((*path, "topologyKey"), key)
    if not action:
        yield required((*path, "whenUnsatisfiable"), "can not be empty")
    elif action not in _ACTIONS:
        yield not_supported((*path, "whenUnsatisfiable"), action, _ACTIONS)
    if constraint.label_selector is not None:
        detail = "constraint must not define a selector, as they deduced for each pod"
        yield forbidden((*path, "labelSelector"), detail)


def _same(one: TopologySpreadConstraint, other: TopologySpreadConstraint) -> bool:
    return (one.topology_key, one.when_unsatisfiable) == (other.topology_key, other.when_unsatisfiable)


def _with_defaults(args: PodTopologySpreadArgs) -> PodTopologySpreadArgs:
    return structs.replace(args, defaulting_type=args.defaulting_type or "System")


PLUGIN = SchedulerPlugin(
    NAME,
    ("preFilter", "filter", "preScore", "score"),
    lambda context, args: PodTopologySpread(context, args.defaulting, args.default_constraints),
    args=PodTopologySpreadArgs,
    check=check,
    with_defaults=_with_defaults,
    weight=2,
    dependent=("filter", "score"),
    interests=INTERESTS,
)
