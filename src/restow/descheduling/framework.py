"""What a strategy is: it suggests moves and gets the verdicts; it never evicts anything itself.

A strategy is a generator. It looks at a ``View``, yields a ``Suggestion`` for each pod it would move and is sent back
the ``Verdict``, so it can adapt: leave a node whose limit is reached, lower the load it still sees. Accepted
suggestions are already applied to the state when the verdict arrives. Moves that only make sense together are one
``Proposal``: all of them are made, or none.

It matters when the evictor's filters are asked, so each strategy asks them when upstream does. Most strategies filter while
they *list* the pods of a node, before that node's first eviction: they call ``view.admissible`` and suggest the rest with
``PendingFilters.NOTHING`` (``suggest_by_node`` is their loop). The others leave the filters to the arbiter, which records
every refusal.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pod_values import Flag
from restow.cluster.pods import NO_POD, Pods
from restow.cluster.state import ClusterState
from restow.kube.labels import selector_from
from restow.policies.codes import PlacementConstraint, RefusalCode, Stage
from restow.policies.schema import PluginSchema

if TYPE_CHECKING:
    from restow.cluster.pod_classes import LabelGroups
    from restow.descheduling.aside import PodsAside
    from restow.descheduling.node_fit import NodeFit
    from restow.descheduling.plan import GoalResult
    from restow.descheduling.vetoes import ClosedNodes
    from restow.kube.objects import LabelSelector
    from restow.policies.arguments import Namespaces
    from restow.policies.policy import UsageSettings


class PendingFilters(enum.Enum):
    """Which evictor checks the arbiter must still make for a suggestion."""

    NOTHING = 0
    PRE_EVICTION = 1
    ALL = 2


#: Stage, code and message of a refusal.
Reason = tuple[Stage, RefusalCode, str]


class Verdict(enum.Enum):
    """The decision on a suggestion."""

    EVICTED = "evicted"
    #: Refused for a reason that applies only to this pod; continue with the next.
    REFUSED = "refused"
    #: Refused because a replacement would find no place, or none where the strategy gains.
    NO_PLACE = "no place"
    #: The limit of the pod's node is reached.
    NODE_LIMIT = "node limit"
    #: The limit of the whole cycle is reached.
    TOTAL_LIMIT = "total limit"


#: Which of some nodes, by index, have what a strategy asks for on the state as it is, bool[len(nodes)].
NodeTest = Callable[[IntArray], BoolArray]
#: Which of some pods something is true of, bool[len(pods)].
PodTest = Callable[[IntArray], BoolArray]
#: What it costs to put a pod on each of some nodes, float64[len(nodes)]; a strategy prefers the least.
NodeCost = Callable[[IntArray], npt.NDArray[np.float64]]


class Suggestion(Struct, frozen=True, gc=False):
    """A pod that should move, and why (one short clause for people).

    ``constraint`` and ``accepts`` say on which nodes the replacement may land; without ``accepts`` the constraint alone does.
    ``worse`` says on which of the other nodes a landing would do harm, because they are worse off by the strategy's measure
    than the node that the pod leaves; None: on none. ``cost`` ranks the nodes for a replacement that can be steered: the
    lowest is the best; None: all are equal. ``by_plan`` is for messages: a saved plan wants the move, not the strategy. ``used``
    is the measured usage of the pod (nano-units), if the strategy works with usage: it corrects measurements of nodes that
    were made before the move.
    """

    pod: int
    reason: str
    constraint: PlacementConstraint = PlacementConstraint.ANYWHERE
    pending: PendingFilters = PendingFilters.NOTHING
    accepts: NodeTest | None = None
    worse: NodeTest | None = None
    cost: NodeCost | None = None
    by_plan: bool = False
    used: Mapping[str, int] | None = None


class Proposal(Struct, frozen=True, gc=False):
    """Moves that only make sense together: all of them are made, in this order, or none.

    Evictor, limits, budgets and placement judge them as a whole, and there is one verdict. ``purpose`` says in a verb and
    its object what they are for ("empty n1"), and no two proposals of a strategy have the same. If a replacement fits
    nowhere, later moves of the proposal that leave other nodes may make room for it.
    """

    suggestions: tuple[Suggestion, ...]
    purpose: str

    def __post_init__(self) -> None:
        pods = {each.pod for each in self.suggestions}
        if not pods or len(pods) < len(self.suggestions):
            raise ValueError(f"a proposal to {self.purpose} must move at least one pod, and each pod once")


Suggestions = Generator[Suggestion | Proposal, Verdict, None]


class StrategyError(Exception):
    """A strategy cannot work on this cluster (say, a node has no metrics); the plan continues without it."""


class EarlierSearch(Struct, frozen=True):
    """What a strategy that searches for all its moves together knows of the plans before, in this process."""

    #: How many plans there were.
    plans: int = 0
    #: Where the last one wanted pods to go: names of nodes by uid. Pods that moved have another uid now.
    places: Mapping[str, str] = {}

    def after(self, other: EarlierSearch | None) -> EarlierSearch:
        """Return this search with what another one of the same plan wanted before it."""
        return self if other is None else EarlierSearch(self.plans, {**other.places, **self.places})


class NodeClass(Struct, frozen=True):
    """The class that a strategy gives a node, by percentages of capacity."""

    name: Literal["over", "under", "between"]
    #: Whether the strategy takes pods off such a node.
    gives: bool
    load: dict[str, float]
    #: The bounds up to which a node counts as underused.
    low: dict[str, float]
    #: The bounds from which it counts as overused, and up to which it may be filled; empty if there are none.
    high: dict[str, float]
    #: Where the load was measured and how old it is; empty if the load is what pods request.
    origin: str = ""
    #: Whether it may also put pods on a node that gives.
    receives: bool = False


#: On which of some nodes a strategy would want a replacement to move again if it landed there, bool[len(nodes)].
LandingCheck = Callable[[int, IntArray], BoolArray]


class Strategy(Struct, frozen=True):
    """One registered strategy: how its policy section reads, what it suggests, and how it sorts nodes, if it does.

    ``sort_nodes`` returns the class of each node that the strategy sees; StrategyError as ``suggest``. ``watch`` returns a
    check that objects to landings of other strategies' moves. It saves time only: without it, a proven plan notices in the
    next round that the strategy would move the replacement again, forbids the first move and starts over.

    ``by_parts``: the strategy looks at neither labels nor owners, so a node that is good for a pod is good for every other
    pod with the same requests, rules and tolerations.
    """

    schema: PluginSchema
    suggest: Callable[[View, Any], Suggestions]
    sort_nodes: Callable[[View, Any], Mapping[int, NodeClass]] | None = None
    watch: Callable[[View, Any], LandingCheck] | None = None
    by_parts: bool = False


Kept = TypeVar("Kept")


class View:
    """What a strategy may use: the cluster as it is now, and the filters of the evictor."""

    def __init__(
        self,
        *,
        state: ClusterState,
        nodes: IntArray,
        clock: Callable[[], int],
        passes_filter: PodTest,
        passes_pre_eviction: PodTest,
        fit: NodeFit,
        labels: LabelGroups,
        collects_metrics: bool,
        usage: UsageSettings | None,
        refuse: Callable[[IntArray], None],
        note: Callable[[str], None],
        report: Callable[[GoalResult], None],
        earlier: EarlierSearch,
        keep: Callable[[EarlierSearch], None],
        landing_of: Callable[[int], int],
        moved_from: Callable[[int], int],
        proves: bool,
        chooses_targets: bool,
        closed: ClosedNodes,
        migrates: Callable[[int], bool],
        kept: dict[Any, Any],
        aside: PodsAside,
    ) -> None:
        #: The state that accepted suggestions change.
        self.state = state
        self.pods = state.cluster.pods
        #: The nodes handed to strategies: ready and matching the policy's nodeSelector, in order of their names.
        self.nodes = nodes
        #: The same as bool[node].
        self.is_listed = np.zeros(len(state.cluster.nodes), dtype=bool)
        self.is_listed[nodes] = True
        #: Whether moves are proven, so that it matters who leaves: each replacement must find a place.
        self.proves = proves
        #: Nodes that receive nothing, bool[node]; none where nothing is proven.
        self.closed: BoolArray = closed.any
        #: The listed nodes that are compared with each other: virtual ones are not.
        self.compared: IntArray = nodes[~closed.virtual[nodes]]
        self._clock = clock
        #: Upstream's nodeFit on the state as it is.
        self.fit = fit
        #: Finds the pods that a selector matches.
        self.labels = labels
        #: Whether the policy has a metrics server asked for usage; without, metrics objects of the input do not count.
        self.collects_metrics = collects_metrics
        #: How measured usage is read; None: as upstream does.
        self.usage = usage
        #: Which of some pods pass Filter, and which PreEvictionFilter, of the profile's evictor now.
        self._passes_filter = passes_filter
        self._passes_pre_eviction = passes_pre_eviction
        self._refuse = refuse
        #: Takes the reason why the strategy finds nothing to do, one sentence for people.
        self.note = note
        #: Takes how near the strategy has come to its goal, if it has one, at the end of each round.
        self.report = report
        #: What the strategy has searched for in earlier plans.
        self.earlier = earlier
        #: Takes what the next plan is to know of a search in this one.
        self.keep = keep
        #: The node where the replacement of a pod that this strategy just moved has landed; negative if not known.
        self.landing_of = landing_of
        #: How many pods this strategy has moved from a node in this plan; more than 0 at first in later rounds only.
        self.moved_from = moved_from
        #: Whether the plan chooses where replacements land, and not the scheduler.
        self.chooses_targets = chooses_targets
        #: Whether a pod runs a virtual machine that is to be migrated, and not evicted.
        self.migrates = migrates
        self._kept = kept
        self._aside = aside

    @property
    def now(self) -> int:
        """Nanoseconds since the epoch. A plan for which it was asked may be another one later on the same cluster."""
        return self._clock()

    @property
    def is_partial(self) -> bool:
        """Whether this plan decides about some pods only, those that are *due*: suggesting the others is in vain."""
        return bool(self._aside)

    def due(self, pods: IntArray) -> IntArray:
        """Those of some pods that are due."""
        return pods[~self._aside.of(pods)] if self._aside else pods

    def due_of(self, chosen: BoolArray) -> IntArray:
        """The pods of a mask, bool[pod], that are due, in canonical order."""
        if not self._aside:
            return self.pods.where(chosen)
        others = self._aside.others(len(self.pods))
        return self.pods.in_order(others[chosen[others]])

    def is_due(self) -> BoolArray:
        """Which pods are due, bool[pod]."""
        due = np.ones(len(self.pods), dtype=bool)
        if self._aside:
            due &= ~self._aside.of(np.arange(len(self.pods)))
        return due

    def due_nodes(self) -> set[int] | None:
        """The nodes with pods that are due now; None where all are."""
        return set(self.state.node[self._aside.others(len(self.pods))].tolist()) if self._aside else None

    def once(self, make: Callable[[ClusterState], Kept]) -> Kept:
        """What a function makes of the state, made once for a plan and for those after it: it has to follow what changes."""
        if make not in self._kept:
            self._kept[make] = make(self.state)
        found: Kept = self._kept[make]
        return found

    def listed_pods(self, namespaces: Namespaces | None, selector: LabelSelector | None) -> BoolArray:
        """Existing pods of any phase on listed nodes that match a strategy's namespaces and labelSelector, bool[pod]."""
        placed = self.state.exists & (self.state.node >= 0)
        placed &= np.append(self.is_listed, [False, False])[self.state.node]
        return placed & self.chosen(namespaces, selector)

    def running_pods(self, namespaces: Namespaces | None, selector: LabelSelector | None) -> BoolArray:
        """The same without Succeeded and Failed pods, bool[pod]."""
        return self.listed_pods(namespaces, selector) & ~self.pods.terminal

    def chosen(self, namespaces: Namespaces | None, selector: LabelSelector | None) -> BoolArray:
        """Pods on any node that match a strategy's namespaces and labelSelector, bool[pod]."""
        chosen = np.ones(len(self.pods), dtype=bool)
        if namespaces is not None and namespaces.include:
            chosen &= self._in_namespaces(namespaces.include)
        if namespaces is not None and namespaces.exclude:
            chosen &= ~self._in_namespaces(namespaces.exclude)
        if selector is not None:
            chosen &= self._labelled(selector)
        return chosen

    def by_node(self, pods: BoolArray) -> Iterator[tuple[int, IntArray]]:
        """The chosen pods (bool[pod]) grouped by the node they are on, in canonical order of nodes and pods.

        The groups are those of the moment of the call; pods removed since are left out of a group.
        """
        indices = self.pods.where(pods)
        nodes = self.state.node[indices]
        order = np.argsort(nodes, kind="stable")
        indices, nodes = indices[order], nodes[order]
        present, starts = np.unique(nodes, return_index=True)
        ends = [*starts[1:].tolist(), len(indices)] if len(indices) else []
        for node, start, end in zip(present.tolist(), starts.tolist(), ends, strict=True):
            group = indices[start:end]
            yield node, group[self.state.exists[group]]

    def evictable(self, pods: IntArray) -> BoolArray:
        """Which pods pass the evictor's Filter now. Records no refusals: for strategies that only count evictable pods."""
        return self._passes_filter(pods)

    def passing(self, pods: IntArray) -> BoolArray:
        """Which pods pass Filter and PreEvictionFilter now. Records no refusals either."""
        passing = self._passes_filter(pods).copy()
        passing[passing] = self._passes_pre_eviction(pods[passing])
        return passing

    def removable(self, pods: IntArray) -> IntArray:
        """The candidates that pass Filter now. Each of the others is recorded as refused."""
        return self._keep(pods, self._passes_filter(pods))

    def admissible(self, pods: IntArray) -> IntArray:
        """The candidates that pass Filter and PreEvictionFilter now. Each of the others is recorded as refused."""
        removable = self.removable(pods)
        return self._keep(removable, self._passes_pre_eviction(removable))

    def counts_on(self, pods: IntArray, nodes: IntArray) -> IntArray:
        """How many of these pods and of their replacements are on each of some nodes now, int64[len(nodes)]."""
        replacements = self.pods.replaced_by[pods]
        rows = np.concatenate((pods, replacements[replacements != NO_POD]))
        on = self.state.node[rows[self.state.exists[rows]]]
        found: IntArray = np.bincount(on[on >= 0], minlength=len(self.is_listed))[nodes]
        return found

    def moves_made(self) -> int:
        """How many pods this strategy has moved from compared nodes in this plan, earlier rounds included."""
        return sum(map(self.moved_from, self.compared.tolist()))

    def node_name(self, pod: int) -> str:
        """The name of the node a pod is on."""
        name: str = self.state.cluster.nodes.names[int(self.state.node[pod])]
        return name

    def _keep(self, pods: IntArray, passes: BoolArray) -> IntArray:
        if not passes.all():
            self._refuse(pods[~passes])
        return pods[passes]

    def _in_namespaces(self, names: tuple[str, ...]) -> BoolArray:
        known = np.array([name in names for name in self.pods.tables.namespaces], dtype=bool)
        return known[self.pods.namespace] if len(known) else np.zeros(0, dtype=bool)

    def _labelled(self, selector: LabelSelector) -> BoolArray:
        compiled = selector_from(selector)
        known = np.array([compiled.matches(labels) for labels in self.pods.tables.labels], dtype=bool)
        return known[self.pods.labels] if len(known) else np.zeros(0, dtype=bool)


def _as_listed(pods: IntArray) -> IntArray:
    return pods


def suggest_by_node(
    view: View,
    reasons: Mapping[int, str],
    constraint: PlacementConstraint,
    listing: Callable[[IntArray], IntArray] = _as_listed,
    accepts: Callable[[int, IntArray], BoolArray] | None = None,
) -> Suggestions:
    """Suggest the pods that have a reason, node by node.

    ``listing`` drops or orders the pods of one node when it is their turn; ``accepts(pod, nodes)`` says which
    nodes satisfy the strategy. A node whose limit is reached is left; the total limit ends the loop.
    """
    wanted = np.zeros(len(view.pods), dtype=bool)
    wanted[view.due(np.array(list(reasons), dtype=np.int64))] = True
    for _, pods in view.by_node(wanted):
        for pod in view.admissible(listing(pods)).tolist():
            verdict = yield Suggestion(pod, reasons[pod], constraint, accepts=accepts and partial(accepts, pod))
            if verdict is Verdict.TOTAL_LIMIT:
                return
            if verdict is Verdict.NODE_LIMIT:
                break


# No priority before any, then by priority, then BestEffort before Burstable before Guaranteed, then pods that would
# rather stay (their annotation counts with any value) after the others; ties in canonical order. Source: Descheduler
# 0.36, SortPodsBasedOnPriorityLowToHigh.
def low_to_high(pods: Pods, chosen: IntArray) -> IntArray:
    """The chosen pods in order of eviction."""
    reluctant = (pods.flags[chosen] & Flag.PREFER_NO_EVICTION) != 0
    keys = (reluctant, pods.qos[chosen], pods.priority[chosen], pods.has_priority[chosen])
    return chosen[np.lexsort(keys)]
