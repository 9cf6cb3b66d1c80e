"""Which recorded evictions were parts of drains.

Who drains a cordoned node asks for all of its pods at once. What no disruption budget protects then leaves within a minute;
the rest is asked for again and again, and leaves when its budget allows it, even if the node takes pods again by then. So an
eviction from a cordoned node begins a drain if no other pod stays there unprotected, and evicts one pod otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from msgspec import Struct

from restow.kube.labels import Selector
from restow.kube.manifests import PodDisruptionBudget, manifest_of
from restow.recordings.reading import Document, ObjectKey, RecordedSpan
from restow.simulating.api_server.eviction import EVICTED
from restow.simulating.api_server.indexes import selector_of
from restow.simulating.replaying.documents import (
    controller_of,
    disruption,
    is_mirror,
    is_over,
    is_terminating,
    key_of,
    metadata_of,
    node_of,
    spec_of,
    uid_of,
)

#: Milliseconds in which all pods of a node have gone that is drained and that no budget protects.
_AT_ONCE: Final = 60_000


class Drains(Struct, frozen=True):
    """The evicted pods of drains, by uid."""

    first: frozenset[str]
    #: All of them, the first ones too.
    all: frozenset[str]


def drains_of(span: RecordedSpan) -> Drains:
    """Return the drains of a recording."""
    found = _Search(_left(span), span.ends)
    for each in span.start:
        found.take(None, each)
    for change in span.changes:
        known = change.old if change.new is None else change.new
        if known is not None and is_evicted(change.old, change.new):
            found.evicted(change.at, known)
        found.take(change.old, change.new)
    return Drains(frozenset(found.first), frozenset(found.drained))


def is_evicted(old: Document | None, new: Document | None) -> bool:
    """Whether a pod that was not evicted before is evicted now."""
    return disruption(new) == EVICTED and disruption(old) != EVICTED


def _left(span: RecordedSpan) -> Mapping[str, int]:
    """When each pod began to go, in milliseconds."""
    left: dict[str, int] = {}
    for change in span.changes:
        if change.key[0] == "Pod" and change.old is not None and (is_terminating(change.new) or is_over(change.new)):
            left.setdefault(uid_of(change.old), change.at)
    return left


@dataclass(slots=True)
class _Search:
    """Goes through the changes of a recording in their order."""

    left: Mapping[str, int]
    ends: int
    first: set[str] = field(default_factory=set)
    drained: set[str] = field(default_factory=set)
    _cordoned: set[str] = field(default_factory=set)
    #: By name of the node, those that a drain would evict, by uid.
    _pods: defaultdict[str, dict[str, Document]] = field(default_factory=lambda: defaultdict(dict))
    #: By key of the budget, its namespace and what it protects.
    _budgets: dict[ObjectKey, tuple[str, Selector]] = field(default_factory=dict)

    def take(self, old: Document | None, new: Document | None) -> None:
        """Take in what an object was and is now."""
        kind = (new or old or {}).get("kind")
        if kind == "Pod":
            self._take_pod(old, new)
        elif kind == "Node":
            self._take_node(old, new)
        elif kind == "PodDisruptionBudget":
            self._take_budget(old, new)

    def _take_pod(self, old: Document | None, new: Document | None) -> None:
        if old is not None:
            self._pods[node_of(old)].pop(uid_of(old), None)
        if new is not None and not is_terminating(new) and not is_over(new) and not _stays_with_node(new):
            self._pods[node_of(new)][uid_of(new)] = new

    def _take_node(self, old: Document | None, new: Document | None) -> None:
        if new is not None and spec_of(new).get("unschedulable"):
            self._cordoned.add(metadata_of(new)["name"])
        elif old is not None:
            self._cordoned.discard(metadata_of(old)["name"])

    def _take_budget(self, old: Document | None, new: Document | None) -> None:
        if old is not None:
            self._budgets.pop(key_of(old), None)
        if new is not None:
            found = cast("PodDisruptionBudget", manifest_of(new))
            self._budgets[key_of(new)] = found.metadata.namespace, selector_of(found)

    def evicted(self, at: int, pod: Document) -> None:
        """A pod is evicted, which may begin a drain."""
        uid, node = uid_of(pod), node_of(pod)
        if node not in self._cordoned or uid in self.drained:
            return
        others = self._pods[node]
        if all(self._leaves(at, each) for each in others.values()):
            self.first.add(uid)
            self.drained.update(others, [uid])

    def _leaves(self, at: int, pod: Document) -> bool:
        """Whether a pod goes at once, or its budget or the end of the recording may be why it does not."""
        soon = at + _AT_ONCE
        return self.left.get(uid_of(pod), self.ends) <= soon or self.ends <= soon or self._is_protected(pod)

    def _is_protected(self, pod: Document) -> bool:
        namespace, labels = metadata_of(pod).get("namespace") or "", metadata_of(pod).get("labels") or {}
        return any(where == namespace and selector.matches(labels) for where, selector in self._budgets.values())


def _stays_with_node(pod: Document) -> bool:
    return controller_of(pod).get("kind") == "DaemonSet" or is_mirror(pod)
