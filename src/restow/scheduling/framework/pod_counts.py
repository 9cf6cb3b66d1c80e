"""How many pods of a kind are in each topology domain, kept up to date as pods come and go.

Spread constraints and affinity terms ask one question over and over: how many pods of this namespace with these labels
are in each zone, or on each node? A *domain* is the nodes that share a value of one label. A *tracker* is the set of those
pods, as groups of pods alike that are found once through an index. It is counted over a topology on first use, and
follows the state's log of changes from then on; one look-up takes the counts of domains to nodes. A change costs as much
as there are trackers that its pod belongs to, so 15,000 trackers are as cheap as one; of counts over many domains only
the recently used are kept. A question about nodes reads only those that have any of the pods, where these are few.
Every tracker looks at a new group once.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.journal import NodeChange
from restow.cluster.nodes import NO_LABEL, NodePart, Nodes
from restow.cluster.pod_columns import PodGroups
from restow.cluster.pods import NO_POD
from restow.cluster.state import ClusterState

#: The domain of nodes that are in none.
NO_DOMAIN = 0

Counts = npt.NDArray[np.int32]

#: How many numbers all counts over many domains may have together: 100 MB.
CAPACITY = 25_000_000
#: Up to this number, domains are few.
FEW_DOMAINS = 64
#: Pods that are on one node in so many at most are few.
SPARSE = 16


@dataclass(frozen=True, eq=False)
class Domains:
    """A division of the nodes into domains 1, 2...; NO_DOMAIN is for the rest. Only ever equal to itself."""

    #: int64[node].
    of_node: IntArray
    #: One more than the highest domain.
    count: int

    @cached_property
    def listed(self) -> list[int]:
        """The domain of each node, to be looked up one by one."""
        listed: list[int] = self.of_node.tolist()
        return listed

    def totals(self, per_node: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Sum over the nodes of each domain, int64[domain]; 0 for NO_DOMAIN."""
        # The sums are made in float64, which is exact below 2**53.
        totals = np.bincount(self.of_node, weights=per_node, minlength=self.count).astype(np.int64)
        totals[NO_DOMAIN] = 0
        return totals

    def only(self, nodes: BoolArray) -> Domains:
        """These domains with only some of the nodes."""
        return self if nodes.all() else Domains(np.where(nodes, self.of_node, NO_DOMAIN), self.count)

    def existing(self) -> IntArray:
        """The domains that have a node."""
        return np.setdiff1d(self.of_node, NO_DOMAIN)


class Topologies:
    """The domains of every topology key of one cluster."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._domains: dict[str, Domains] = {}
        self._complete: dict[str, Domains] = {}
        nodes.follow(NodePart.POSITION | NodePart.ASKED_LABELS, self._forget)

    @cached_property
    def nodes(self) -> Domains:
        """One domain per node, ignoring labels: node i is domain i + 1."""
        count = len(self._nodes) + 1
        return Domains(np.arange(1, count), count)

    def domains(self, key: str) -> Domains:
        """Nodes by the value of a label; those without it are in no domain."""
        known = self._domains.get(key)
        if known is None:
            column = self._nodes.label_column(key)
            known = self._domains[key] = Domains(column.codes.astype(np.int64) + 1, len(column.values) + 1)
        return known

    def _forget(self) -> None:
        self._domains, self._complete = {}, {}
        self.__dict__.pop("nodes", None)

    def complete(self, key: str) -> Domains:
        """Domains by a label; a node without it counts as one with an empty value."""
        known = self._complete.get(key)
        if known is None:
            column = self._nodes.label_column(key)
            codes = np.where(column.codes == NO_LABEL, column.code(""), column.codes)
            known = self._complete[key] = Domains(codes.astype(np.int64) + 1, len(column.values) + 2)
        return known


@dataclass(slots=True)
class Count:
    """The pods of a tracker by domain."""

    #: The domain of each node, as a list: it is looked up node by node.
    of_node: list[int]
    #: Those that hold resources, int32[domain]; nothing for NO_DOMAIN...
    present: Counts
    #: ...and those among them that are not terminating.
    staying: Counts


@dataclass(slots=True, eq=False)
class Tracker:
    """One set of pods: some of the groups of a scope, without pods that are over."""

    scope: PodGroups
    groups: list[int]
    #: Whether a group belongs to the set.
    has: Callable[[int], bool]
    #: What is kept of it, by topology.
    counts: dict[Domains, Count] = field(default_factory=dict)
    #: The pods on each node that are not terminating; None before the first question about nodes.
    staying: dict[int, int] | None = None

    @property
    def members(self) -> IntArray:
        """All pods of the set, on any node, including finished ones."""
        return self.scope.of_groups(self.groups)

    def take_in(self, change: NodeChange) -> None:
        """Follow one of its pods."""
        for count in self.counts.values():
            domain = count.of_node[change.node]
            if domain == NO_DOMAIN:
                continue
            if change.present:
                count.present[domain] += change.present
            if change.staying:
                count.staying[domain] += change.staying
        if self.staying is not None and change.staying:
            left = self.staying.pop(change.node, 0) + change.staying
            if left:
                self.staying[change.node] = left


@dataclass(slots=True)
class _Scope:
    """Groups of pods, and the trackers that each belongs to."""

    groups: PodGroups
    trackers: list[Tracker] = field(default_factory=list)
    of_group: defaultdict[int, list[Tracker]] = field(default_factory=lambda: defaultdict(list))
    #: How many of the groups were shown to the trackers.
    shown: int = 0

    def show_new_groups(self) -> None:
        """Have the trackers take in new groups."""
        for group in range(self.shown, len(self.groups)):
            for tracker in self.trackers:
                if tracker.has(group):
                    tracker.groups.append(group)
                    self.of_group[group].append(tracker)
        self.shown = len(self.groups)


class PodCounts:
    """The trackers of one state."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._trackers: dict[Hashable, Tracker] = {}
        self._scopes: dict[int, _Scope] = {}
        self._read = len(state.changes)
        self._kept: OrderedDict[tuple[Tracker, Domains], None] = OrderedDict()
        self._size = 0
        state.before_rewriting.append(self._catch_up)
        state.cluster.nodes.follow(NodePart.POSITION | NodePart.ASKED_LABELS, self._forget_all)

    def known(self, key: Hashable) -> Tracker | None:
        """The tracker of a key, if there is one yet; it has the groups that are new."""
        if self._read != len(self._state.changes):
            self._catch_up()
        return self._trackers.get(key)

    def tracker(
        self, key: Hashable, scope: PodGroups, groups: Callable[[], list[int]], has: Callable[[int], bool]
    ) -> Tracker:
        """The tracker of a key; ``groups`` finds its groups at the first question, ``has`` checks new ones."""
        known = self.known(key)
        if known is None:
            known = self._trackers[key] = self._track(Tracker(scope, groups(), has))
        return known

    def count(self, tracker: Tracker, domains: Domains) -> Count:
        """The pods of a tracker by domain, on the state as it is; read-only, and it changes with the state."""
        if self._read != len(self._state.changes):
            self._catch_up()
        known = tracker.counts.get(domains)
        if known is None:
            known = tracker.counts[domains] = self._counted(tracker, domains)
            if domains.count > FEW_DOMAINS:
                self._keep(tracker, domains)
        elif domains.count > FEW_DOMAINS:
            self._kept.move_to_end((tracker, domains))
        return known

    def staying_on(self, tracker: Tracker, nodes: IntArray) -> Counts:
        """How many pods of a tracker each of some nodes has that are not terminating, int[len(nodes)]."""
        return self._put_down(self._by_node(tracker))[nodes]

    def staying_by_node(self, tracker: Tracker, nodes: Domains) -> Counts:
        """As ``staying_on``, for all nodes, each a domain of ``nodes``; read-only, and it changes with the state."""
        staying = self._by_node(tracker)
        # To put few pods down takes less time than to count them again whenever the counts of others had to make room.
        is_sparse = SPARSE * len(staying) < nodes.count
        return self._put_down(staying) if is_sparse else self.count(tracker, nodes).staying[1:]

    def where(self, tracker: Tracker) -> Hashable:
        """The nodes that have pods of a tracker which are not terminating, and how many each has: equal for equal places."""
        return frozenset(self._by_node(tracker).items())

    def counts(self, pod: int) -> bool:
        """Whether a pod belongs to any tracker, so that its place counts."""
        self._catch_up()
        return bool(self._state.holds[pod]) and any(map(bool, self._trackers_of(pod)))

    def forget(self, gone: set[Domains]) -> None:
        """Follow no counts over some topologies any more."""
        for tracker in self._trackers.values() if gone else ():
            for domains in gone.intersection(tracker.counts):
                del tracker.counts[domains]
                if (tracker, domains) in self._kept:
                    del self._kept[tracker, domains]
                    self._size -= 2 * domains.count

    def validate(self) -> None:
        """Recount every tracker from nothing and compare; AssertionError where one differs."""
        self._catch_up()
        for key, tracker in self._trackers.items():
            for domains, count in tracker.counts.items():
                fresh = self._counted(tracker, domains)
                assert np.array_equal(fresh.present, count.present), f"present of {key} differs from the pods"
                assert np.array_equal(fresh.staying, count.staying), f"staying of {key} differs from the pods"
            if tracker.staying is not None:
                assert tracker.staying == self._staying(tracker), f"staying of {key} by node differs from the pods"

    def _forget_all(self) -> None:
        for tracker in self._trackers.values():
            tracker.counts.clear()
            tracker.staying = None
        self._kept.clear()
        self._size = 0

    def _track(self, tracker: Tracker) -> Tracker:
        scope = self._scopes.get(id(tracker.scope))
        if scope is None:
            scope = self._scopes[id(tracker.scope)] = _Scope(tracker.scope)
        scope.show_new_groups()
        scope.trackers.append(tracker)
        for group in tracker.groups:
            scope.of_group[group].append(tracker)
        return tracker

    def _trackers_of(self, pod: int) -> Iterator[list[Tracker]]:
        return (scope.of_group.get(scope.groups.values[pod], []) for scope in self._scopes.values())

    def _counted(self, tracker: Tracker, domains: Domains) -> Count:
        state, members = self._state, tracker.members
        placed = members[state.holding(members) & (state.node[members] >= 0)]
        found = domains.of_node[state.node[placed]]
        present = np.bincount(found, minlength=domains.count).astype(np.int32)
        staying = present.copy()
        np.subtract.at(staying, found[state.terminating[placed]], 1)
        present[NO_DOMAIN] = staying[NO_DOMAIN] = 0
        return Count(domains.listed, present, staying)

    def _put_down(self, by_node: Mapping[int, int]) -> Counts:
        """Numbers of pods by node, int32[node]."""
        found = np.zeros(len(self._state.running), dtype=np.int32)
        found[list(by_node)] = list(by_node.values())
        return found

    def _by_node(self, tracker: Tracker) -> dict[int, int]:
        """As ``Tracker.staying``, on the state as it is; read-only."""
        if self._read != len(self._state.changes):
            self._catch_up()
        if tracker.staying is None:
            tracker.staying = self._staying(tracker)
        return tracker.staying

    def _staying(self, tracker: Tracker) -> dict[int, int]:
        state, members = self._state, tracker.members
        on = state.node[members]
        return Counter(on[state.holding(members) & ~state.terminating[members] & (on >= 0)].tolist())

    def _keep(self, tracker: Tracker, domains: Domains) -> None:
        """Make room for a count; those that were not asked for longest are forgotten."""
        self._kept[tracker, domains] = None
        self._size += 2 * domains.count
        while self._size > CAPACITY and len(self._kept) > 1:
            (oldest, over), _ = self._kept.popitem(last=False)
            del oldest.counts[over]
            self._size -= 2 * over.count

    def _catch_up(self) -> None:
        # Finished pods hold nothing on any node, though the log records when they come and go.
        holds = self._state.holds
        changes = [each for each in self._state.changes[self._read :] if each.pod != NO_POD and holds[each.pod]]
        self._read = len(self._state.changes)
        for scope in self._scopes.values():
            group_of = scope.groups.values
            if scope.shown != len(scope.groups.table):
                scope.show_new_groups()
            for change in changes:
                for tracker in scope.of_group.get(group_of[change.pod], ()):
                    tracker.take_in(change)
