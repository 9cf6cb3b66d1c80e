"""The state that decisions are made on: what the API server reports, and what was decided since.

Watches only note which objects changed; ``catch_up`` applies the changes between two decisions, so that the state never
changes during one. It compares with the store and ignores the kind of event: an event that arrives twice, late or never
leads to the same state. A pod gets its node as soon as that is decided (it is *assumed* to be there) and keeps it until
its binding is seen or has failed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import nsmallest
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from msgspec import structs

from restow.cluster.pods import NO_POD, PENDING, PodRow
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore, Key
from restow.cluster.state import ClusterState
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.scheduling.cycle.cycle import ClusterChanges, PodChange, PodSnapshot
from restow.scheduling.cycle.followed_objects import FollowedObjects
from restow.scheduling.cycle.pod_rows import PodRowBuilder, as_scheduled, differs, is_beyond_sums
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.requeueing import PodFacts, pod_facts
from restow.scheduling.loop.schedulers import Schedulers
from restow.usage.measured import KEY, RecentUsage
from restow.usage.measured import KIND as USAGE

#: Kinds whose objects plugins follow by themselves.
_FOLLOWED: Final = frozenset(("Node", "PodDisruptionBudget", "PodGroup"))
#: Applying this many pods takes some tenths of a second.
_AT_ONCE: Final = 2_000
#: After this many changes, the state is rebuilt without its journal.
_LONGEST_PAST: Final = 500_000


class Assumed(NamedTuple):
    """Where a pod is about to be bound."""

    key: Key
    node: str


class ObjectSource(Protocol):
    """The API server's objects in memory; ``live.cluster.LiveCluster`` is one."""

    @property
    def store(self) -> ClusterStore:
        """The current objects, to be read and not to be kept."""

    def snapshot(self) -> ClusterSnapshot:
        """The cluster as it is now."""


class Mirror:
    """The ``SchedulerCache`` of a scheduler that follows an API server: one state, with the rules of some profiles."""

    def __init__(self, profiles: Sequence[SchedulerProfile]) -> None:
        self._profiles = tuple(profiles)
        self._names = frozenset(profile.name for profile in self._profiles)
        self._source: ObjectSource | None = None
        self._touched: defaultdict[str, set[Key]] = defaultdict(set)
        #: By uid.
        self._assumed: dict[str, Assumed] = {}
        #: The nodes that pods are nominated for, perhaps before their status says so, by uid.
        self._nominated: dict[str, Assumed] = {}
        #: The usage of nodes, where a profile needs it.
        self._usage: RecentUsage | None = None

    def touch(self, kind: str, keys: Iterable[Key]) -> None:
        """Note that objects of a kind may have changed."""
        self._touched[kind].update(keys)

    @property
    def has_begun(self) -> bool:
        """Whether there is a state."""
        return self._source is not None

    @property
    def is_behind(self) -> bool:
        """Whether ``catch_up`` has changes to apply."""
        return bool(self._touched)

    def begin(self, source: ObjectSource) -> None:
        """Build the first state; all kinds must be known."""
        self._source = source
        self._touched.clear()
        self._make_state()

    def measure(self, usage: RecentUsage | None) -> None:
        """Score by this usage of nodes from now on; None if it is unknown."""
        self._usage = usage
        if self.has_begun:
            self._put_usage()
            self._make_schedulers()
            self.state.commit()

    def restart(self) -> None:
        """Rebuild the state from the store."""
        self._make_state()

    def catch_up(self) -> ClusterChanges:
        """Apply noted changes; indices of nodes and pods may change.

        Of many pods, such as those of a fresh list, only some are applied at a time, so that other tasks can run.
        """
        touched, self._touched = self._touched, defaultdict(set)
        changes, pods = ClusterChanges(), touched.pop("Pod", set())
        at_once = nsmallest(_AT_ONCE, pods)
        for key in at_once:
            changes.pods.extend(self._follow_pod(key))
        if len(pods) > len(at_once):
            self._touched["Pod"] = pods.difference(at_once)
        for kind in sorted(touched):
            changes.objects.extend(self._objects.changes(self._store, kind, touched[kind]))
        if self._is_long or any(each.kind not in _FOLLOWED and each.after is None for each in changes.objects):
            self._make_state()
        elif changes.objects:
            for each in changes.objects:
                node = self._objects.apply(each)
                if node is not None:
                    self._follow_nominations(node)
            if any(each.kind not in _FOLLOWED for each in changes.objects):
                self._make_schedulers()
        self.state.commit()
        return changes

    def find(self, key: Key, uid: str) -> int:
        """The pod with this name and uid; NO_POD if there is none."""
        pod = self.state.order.find(*key)
        return pod if pod != NO_POD and self.state.cluster.pods.uids[pod] == uid else NO_POD

    def is_terminating(self, pod: PodFacts) -> bool:
        """Whether a pod is being deleted, or gone."""
        row = self.find((pod.namespace, pod.name), pod.uid)
        return row == NO_POD or bool(self.state.terminating[row])

    def is_assumed(self, uid: str) -> bool:
        """Whether a pod has a node that the watch does not show yet."""
        return uid in self._assumed

    def sizes(self) -> dict[str, int]:
        """The numbers of nodes, of pods with a node, and of assumed pods among these, by their metric labels."""
        placed = 0 if self._source is None else int(np.count_nonzero(self.state.exists & (self.state.node >= 0)))
        return {
            "nodes": len(self._objects.nodes) if self.has_begun else 0,
            "pods": placed,
            "assumed_pods": len(self._assumed),
        }

    @property
    def measured(self) -> int:
        """How many nodes have a known usage."""
        if self._usage is None or not self.has_begun:
            return 0
        return len(self._objects.nodes.keys() & set(self._usage.names))

    def assume(self, pod: int, node: int) -> None:
        """Assume that a pod is on a node, until ``forget``."""
        pods, nodes = self.state.cluster.pods, self.state.cluster.nodes
        self.schedulers.nominations.drop(pod)
        self._nominated.pop(pods.uids[pod], None)
        self._assumed[pods.uids[pod]] = Assumed(self._key(pod), nodes.names[node])
        self.state.place(pod, node)

    def forget(self, uid: str) -> list[PodChange]:
        """Drop the assumption about a pod: it is where the API server says."""
        assumed = self._assumed.pop(uid, None)
        return [] if assumed is None else list(self._follow_pod(assumed.key))

    def nominate(self, pod: int, node: int) -> list[int]:
        """Keep a node for a pod; returns the less important pods that lose their nomination for it."""
        nominations = self.schedulers.nominations
        before = nominations.kept_for(node, np.iinfo(np.int64).min)
        nominations.give(pod, node)
        self.keep(pod, node)
        outranked = [each for each in before if each != pod and nominations.node(each) != node]
        for each in outranked:
            self._nominated.pop(self.state.cluster.pods.uids[each], None)
        return outranked

    def keep(self, pod: int, node: int) -> None:
        """Keep a node for a pod; others keep their nominations."""
        cluster = self.state.cluster
        self.schedulers.nominations.note(pod, node)
        self._nominated[cluster.pods.uids[pod]] = Assumed(self._key(pod), cluster.nodes.names[node])

    def drop_nomination(self, pod: int) -> bool:
        """Drop the nomination of a pod; whether it had one."""
        self._nominated.pop(self.state.cluster.pods.uids[pod], None)
        had = self.schedulers.nominations.node(pod) >= 0
        self.schedulers.nominations.drop(pod)
        return had

    @property
    def _store(self) -> ClusterStore:
        assert self._source is not None
        return self._source.store

    @property
    def _is_long(self) -> bool:
        return len(self.state.changes) + len(self.state.births) > _LONGEST_PAST

    def _make_state(self) -> None:
        assert self._source is not None
        self.state = ClusterState(self._source.snapshot())
        self._rows = PodRowBuilder(self.state)
        self._objects = FollowedObjects(self.state, self._store)
        for uid, (key, node) in self._assumed.items():
            pod = self.find(key, uid)
            if pod != NO_POD:
                self.state.place(pod, self.state.node_called(node))
        self._put_usage()
        self._make_schedulers()

    def _put_usage(self) -> None:
        self.state.put(USAGE, KEY, self._usage)

    def _make_schedulers(self) -> None:
        self.state.dismiss_followers()
        self.schedulers = Schedulers(Context.of(self.state), self._profiles)
        self._place_again()
        for uid, (key, node) in list(self._nominated.items()):
            pod, at = self.find(key, uid), self.state.node_called(node)
            if pod != NO_POD and at >= 0:
                self.schedulers.nominations.give(pod, at)

    def _place_again(self) -> None:
        """Show plugins what assumed pods reserve."""
        pods = self.state.cluster.pods
        for uid, (key, node) in self._assumed.items():
            pod = self.find(key, uid)
            if pod != NO_POD and pods.tables.volumes[pods.volumes[pod]]:
                self.state.place(pod, PENDING)
                self.state.place(pod, self.state.node_called(node))

    def _follow_pod(self, key: Key) -> Iterator[PodChange]:
        values, pod = self._values(key), self.state.order.find(*key)
        if pod != NO_POD and (values is None or values["uids"] != self.state.cluster.pods.uids[pod]):
            before = self._seen(pod)
            self._lose(pod)
            yield PodChange(before, None)
            pod = NO_POD
        if values is not None:
            yield from self._put(pod, values)

    def _values(self, key: Key) -> dict[str, Any] | None:
        """The values of a pod; None if it is gone, or if its node's sums would overflow."""
        values = self._store.pod_values(*key)
        if values is None or not values["node"] or not is_beyond_sums(self.state, values):
            return values
        return None

    def _put(self, pod: int, values: dict[str, Any]) -> Iterator[PodChange]:
        """Update a pod from the store, or to where it is assumed to be."""
        is_confirmed = bool(values["node"]) and self._assumed.pop(values["uids"], None) is not None
        row = self._rows.of(as_scheduled(values)) | {"node": self._place(values)}
        if pod == NO_POD:
            pod = self.state.create(row)
            self._follow_nomination(pod, row, is_new=row["nominated"] != PENDING)
            yield PodChange(None, self._seen(pod))
            return
        known = self._row(pod)
        is_different = differs(known, row)
        if not (is_different or is_confirmed):
            return
        seen = self._seen(pod)
        before = structs.replace(seen, facts=replace(seen.facts, node="")) if is_confirmed else seen
        if is_different:
            self.state.update(pod, row)
        is_new = known["nominated"] != row["nominated"] or known["node"] != PENDING or before.is_over
        self._follow_nomination(pod, row, is_new=is_new)
        yield PodChange(before, self._seen(pod))

    def _place(self, values: dict[str, Any]) -> int:
        """The node of a pod: the one where it is bound, or else the one where it is assumed to be."""
        assumed = self._assumed.get(values["uids"])
        return self.state.node_called(values["node"] if assumed is None else assumed.node)

    def _row(self, pod: int) -> PodRow:
        """The row of a pod, with its current node."""
        return self.state.cluster.pods.row(pod) | {"node": int(self.state.node[pod])}

    def _seen(self, pod: int) -> PodSnapshot:
        state, cluster = self.state, self.state.cluster
        facts = pod_facts(cluster.pods, cluster.nodes, pod)
        node = int(state.node[pod])
        if node >= 0 and not facts.node:
            facts = replace(facts, node=cluster.nodes.names[node])
        return PodSnapshot.of(facts, self._names, is_over=cluster.pods.is_over(pod))

    def _lose(self, pod: int) -> None:
        """Remove a pod that was deleted."""
        uid = self.state.cluster.pods.uids[pod]
        self._assumed.pop(uid, None)
        self._nominated.pop(uid, None)
        self.schedulers.nominations.drop(pod)
        self.state.delete(pod)

    def _follow_nomination(self, pod: int, row: PodRow, *, is_new: bool) -> None:
        """Nominate a pending pod for the nominated node in its status, when that changes."""
        nominations = self.schedulers.nominations
        if row["node"] != PENDING or self.state.cluster.pods.is_over(pod):
            nominations.drop(pod)
            self._nominated.pop(row["uids"], None)
        elif is_new and self.schedulers.knows(pod):
            self._nominated.pop(row["uids"], None)
            nominations.note(pod, row["nominated"])

    def _follow_nominations(self, node: int) -> None:
        """Apply the nominations of pods for a node that did not exist when they were nominated."""
        state, nominated = self.state, self.state.cluster.pods.nominated
        for pod in np.flatnonzero((nominated == node) & state.holds_resources() & (state.node == PENDING)).tolist():
            if self.schedulers.knows(pod):
                self.schedulers.nominations.note(pod, node)

    def _key(self, pod: int) -> Key:
        pods = self.state.cluster.pods
        return pods.tables.namespaces[pods.namespace[pod]], pods.names[pod]
