"""What the plugins of one scheduler share: the state, its groups of pods, and the counts over them.

A plugin finds the pods of a selector with ``selected``, and of many selectors those that match one pod with a
``SelectorIndex``. One that keeps counts of its own has a ``Follower`` call it once, and in order, for every pod that comes
to a node or leaves one: that covers what is placed, moved, tried out and taken back.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec import Struct

from restow.cluster.journal import NodeChange
from restow.cluster.pod_classes import LabelGroups
from restow.cluster.pod_columns import PodGroups
from restow.cluster.state import ClusterState
from restow.kube.labels import Requirement, Selector
from restow.scheduling.framework.pod_counts import PodCounts, Tracker

T = TypeVar("T")

#: A selector and the namespaces, by identifier, that it looks into; None stands for all.
Selection = tuple[Selector, frozenset[int] | None]

#: Where a selector is filed: a namespace (None: any) and a label (None: no equality is asked for).
Anchor = tuple[str | None, tuple[str, str] | None]


@dataclass(slots=True, frozen=True)
class Context:
    """One state and the indices over it; every plugin of a scheduler gets the same."""

    state: ClusterState
    labels: LabelGroups
    #: Pods with the same rules in the same namespace carry the same inter-pod terms.
    carriers: PodGroups
    counts: PodCounts
    #: Labels by name of the namespaces that the input holds.
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: What plugins have made for one another.
    _shared: dict[Hashable, Any] = field(default_factory=dict)

    @staticmethod
    def of(state: ClusterState) -> Context:
        """The context of a state."""
        return Context(
            state,
            LabelGroups(state.cluster.pods),
            PodGroups(state.cluster.pods, "rules", "namespace"),
            PodCounts(state),
            state.cluster.namespace_labels(),
        )

    def shared(self, make: Callable[[Context], T]) -> T:
        """The value of ``make``, computed once and shared by all plugins that ask for it."""
        if make not in self._shared:
            self._shared[make] = make(self)
        made: T = self._shared[make]
        return made


def selected(context: Context, *selections: Selection) -> Tracker:
    """The count of the pods that match all of some selections (at least one) and are not over."""
    known = context.counts.known(selections)
    if known is not None:
        return known
    labels = context.labels

    def is_meant(group: int) -> bool:
        return all(
            (namespaces is None or labels.namespace(group) in namespaces) and selector.matches(labels.labels(group))
            for selector, namespaces in selections
        )

    def meant() -> list[int]:
        first, *others = (labels.matching_groups(*each) for each in selections)
        return sorted(set(first).intersection(*others))

    return context.counts.tracker(selections, labels.groups, meant, is_meant)


# AddPod and RemovePod. A row is not used for another pod before every follower has read what happened to the pod that
# had it.
class Follower:
    """Reads the changes of one state from now on; ``note`` is called for each pod that came or went."""

    def __init__(self, state: ClusterState, note: Callable[[NodeChange], None]) -> None:
        self._state = state
        self._note = note
        self._read = len(state.changes)
        state.before_rewriting.append(self.catch_up)

    def skip(self) -> None:
        """Skip everything that has happened so far."""
        self._read = len(self._state.changes)

    def catch_up(self) -> None:
        """Call ``note`` for everything that happened since the last time."""
        changes = self._state.changes
        for position in range(self._read, len(changes)):
            if changes[position].present:
                self._note(changes[position])
        self._read = len(changes)


class LabelledAs(Struct, frozen=True):
    """A namespace and the labels that decide: pods that are alike in them are meant by the same selectors."""

    namespace: str
    labels: frozenset[tuple[str, str]]


class ScopedSelector(Struct, frozen=True):
    """A selector and the namespaces that it may match in; None stands for any."""

    selector: Selector
    namespaces: Collection[str] | None


class SelectorIndex:
    """Which of many selectors match one set of labels; an entry is known by its position in ``entries``.

    A cluster with 15,000 workloads has as many Services and affinity terms, and each pod is meant by one or two of them.
    So every selector is filed under the equality that the fewest others ask for, its *anchor*: a pod's labels meet only
    the selectors that are anchored at one of them, and the few that ask for no equality at all.
    """

    def __init__(self, entries: Sequence[ScopedSelector]) -> None:
        self._selectors = [entry.selector for entry in entries]
        self._keys = frozenset().union(*(selector.keys() for selector in self._selectors))
        self._filed: dict[Anchor, list[int]] = defaultdict(list)
        asked = Counter(anchor for entry in entries for anchors in _equalities(entry) for anchor in anchors)
        for position, entry in enumerate(entries):
            rarest = min(_equalities(entry), key=lambda anchors: sum(asked[each] for each in anchors), default=None)
            for anchor in [(scope, None) for scope in _scopes(entry)] if rarest is None else rarest:
                self._filed[anchor].append(position)

    def labelled_as(self, namespace: str, labels: Mapping[str, str]) -> LabelledAs:
        """What of a pod decides which entries mean it."""
        return LabelledAs(namespace, frozenset(label for label in labels.items() if label[0] in self._keys))

    def matching(self, pod: LabelledAs) -> list[int]:
        """The entries that match the labels and may match in the namespace, in order."""
        labels = dict(pod.labels)
        return sorted(each for each in self._candidates(pod) if self._selectors[each].matches(labels))

    def _candidates(self, pod: LabelledAs) -> Iterator[int]:
        for scope in (pod.namespace, None):
            for label in (None, *pod.labels):
                yield from self._filed.get((scope, label), ())


def _equalities(entry: ScopedSelector) -> Iterator[list[Anchor]]:
    """For each equality of a selector, the places where it would be filed; none where nothing can match."""
    for requirement in entry.selector.requirements:
        if requirement.operator == "In":
            yield [(scope, label) for scope in _scopes(entry) for label in _labels(requirement)]


def _scopes(entry: ScopedSelector) -> Collection[str | None]:
    return (None,) if entry.namespaces is None else entry.namespaces


def _labels(requirement: Requirement) -> list[tuple[str, str]]:
    return [(requirement.key, value) for value in dict.fromkeys(requirement.values)]
