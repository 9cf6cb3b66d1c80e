"""A state that follows a live cluster, for decisions that are made one after the other.

A snapshot and all that is kept of it cost as much as the cluster is large. Between two plans little happens, so the state
of the first one is brought up to date: watches note what may have changed, and only that is compared with the store.
Nothing changes while a decision is made. What is gone leaves traces in the tables of the state, so it ends once a quarter
of the cluster has changed.

Pods, nodes, budgets, quotas and controllers are followed. What else changes, the scheduler's rules may have been worked
out from, and what only a snapshot finds out is left to it: then the state ends, and the next one is made of a snapshot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from restow.cluster.left_out import ObjectKey
from restow.cluster.pods import NO_POD
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore, Key
from restow.cluster.state import ClusterState
from restow.cluster.usage_samples import QueryResult, UsageChange, UsageQuery
from restow.live.reading import METRICS
from restow.scheduling.cycle.followed_objects import FollowedObjects
from restow.scheduling.cycle.pod_rows import PodRowBuilder, is_beyond_sums

#: The kinds besides pods whose changes a state follows.
_FOLLOWED: Final = frozenset(
    (
        "Node",
        "PodDisruptionBudget",
        "ResourceQuota",
        "ReplicaSet",
        "ReplicationController",
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "Job",
        "ControllerRevision",
    )
)
#: The most objects that are looked at again at a time; of more, a snapshot is made in less time. Nodes are not counted:
#: in the minutes from one cycle to the next all of them report that nothing has changed.
_MOST: Final = 10_000
#: The most objects of a kind other than Pod that are changed at a time.
_MOST_CHANGED: Final = 1_000
#: The most pods that a state follows before it ends, as a share of its pods.
_SHARE: Final = 0.25
#: What has no meaning outside of a plan.
_PLANNED: Final = frozenset(("rank", "replaces", "replaced_by"))


class TrailingState:
    """The state of a cluster that a store holds, as it was when it was last asked for."""

    def __init__(self, cluster: ClusterSnapshot, store: ClusterStore) -> None:
        self.state = ClusterState(cluster)
        self._missing = cluster.missing
        # Of what does not fit into the sums of a node, which part is left out depends on the rest.
        self._left_out: Mapping[ObjectKey, str] = cluster.left_out
        self._rows = PodRowBuilder(self.state)
        self._objects = FollowedObjects(self.state, store)
        self._touched: defaultdict[str, set[Key]] = defaultdict(set)
        #: How many more pods it follows, however few there are at a time.
        self._left = max(_MOST, int(_SHARE * len(cluster.pods)))

    @property
    def is_far_behind(self) -> bool:
        """Whether so much may have changed that it cannot catch up."""
        return sum(len(keys) for kind, keys in self._touched.items() if kind != "Node") > _MOST

    def touch(self, kind: str, keys: Iterable[Key]) -> None:
        """Note that objects of a kind may have changed."""
        self._touched[kind].update(keys)

    def use(self, usage: Mapping[UsageQuery, QueryResult], changes: Sequence[UsageChange]) -> None:
        """Let decisions count with this usage."""
        self.state.cluster = replace(self.state.cluster, usage=usage, usage_changes=changes)

    def catch_up(self, store: ClusterStore, missing: frozenset[str]) -> bool:
        """Let the state be as the store is; false if only a snapshot can tell: then this one is of no use any more.

        ``missing`` are the kinds that are not known.
        """
        is_lost = self.is_far_behind
        touched, self._touched = self._touched, defaultdict(set)
        pods = touched.pop("Pod", set())
        self._left -= len(pods)
        if is_lost or self._left < 0:
            return False
        if missing != self._missing or store.left_out != self._left_out:
            return False
        # Of kinds that are not known the state has nothing, and what was measured is more than the latest figures.
        if not touched.keys().isdisjoint((*missing, *METRICS)):
            return False
        for kind, keys in sorted(touched.items()):
            changes = list(self._objects.changes(store, kind, keys))
            if len(changes) > (_MOST_CHANGED if kind in _FOLLOWED else 0):
                return False
            for change in changes:
                self._objects.apply(change)
        if not all(self._follow(store, key) for key in sorted(pods)):
            return False
        self.state.commit()
        return True

    def _follow(self, store: ClusterStore, key: Key) -> bool:
        """Let a pod be as the store has it; false if it does not fit into the sums of its node."""
        state, values, pod = self.state, store.pod_values(*key), self.state.order.find(*key)
        if values is not None and is_beyond_sums(state, values):
            return False
        if pod != NO_POD and (values is None or values["uids"] != state.cluster.pods.uids[pod]):
            state.delete(pod)
            pod = NO_POD
        if values is None:
            return True
        row = self._rows.of(values)
        if pod == NO_POD:
            state.create(row)
            return True
        known = state.cluster.pods.row(pod)
        if any(known[name] != value for name, value in row.items() if name not in _PLANNED):
            state.update(pod, row)
        return True
