"""What plans are made on: one state of the live cluster, with what earlier plans have left of it.

A repaired plan decides about a few pods, and between two cycles little happens. Made on a snapshot of its own, each plan
would take as long as the cluster is large. The state needs little memory beside the live cluster, whose parts it shares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from restow.cluster.snapshot import ClusterSnapshot, Key
from restow.cluster.usage_samples import QueryResult, UsageChange, UsageQuery
from restow.executing.deciding import CycleRules
from restow.live.cluster import LiveCluster
from restow.live.trailing import TrailingState
from restow.proving.planning_cache import PlanningCache


class CycleCache:
    """Keeps a planning cache in step with a live cluster."""

    def __init__(self, live: LiveCluster) -> None:
        self._live = live
        self._kept: tuple[TrailingState, PlanningCache] | None = None
        live.listeners.append(self._touch)

    @contextmanager
    def cycle(self) -> Iterator[None]:
        """Keep what the plans of a cycle leave, unless it fails: then one of them may not have ended yet."""
        try:
            yield
        except BaseException:
            self._kept = None
            raise

    def snapshot(
        self, rules: CycleRules, usage: Mapping[UsageQuery, QueryResult], changes: Sequence[UsageChange]
    ) -> ClusterSnapshot:
        """The cluster as it is now, with usage and what moves have changed of it; WatchEndedError as ``LiveCluster``."""
        minor = self._minor(rules)
        return replace(self._live.snapshot(), usage=usage, usage_changes=changes, server_minor=minor)

    def now(
        self, rules: CycleRules, usage: Mapping[UsageQuery, QueryResult], changes: Sequence[UsageChange]
    ) -> PlanningCache:
        """The cluster as it is now, as ``snapshot``, with what earlier plans have left of it."""
        if not self._catch_up(rules):
            # Before there is another one.
            self._kept = None
        if self._kept is None:
            trailing = TrailingState(self.snapshot(rules, usage, changes), self._live.store)
            self._kept = trailing, PlanningCache.of(trailing.state, rules.profiles)
        else:
            self._kept[0].use(usage, changes)
        return self._kept[1]

    def _catch_up(self, rules: CycleRules) -> bool:
        """Let what is kept be the cluster as it is now; false if there is nothing, or nothing for these rules."""
        if self._kept is None:
            return False
        trailing, cache = self._kept
        are_same = cache.profiles == tuple(rules.profiles) and trailing.state.cluster.server_minor == self._minor(rules)
        return are_same and trailing.catch_up(self._live.store, self._live.not_known)

    def _minor(self, rules: CycleRules) -> int | None:
        return rules.policy.restow.scheduler_minor or self._live.server_minor

    def _touch(self, kind: str, keys: Iterable[Key]) -> None:
        if self._kept is None:
            return
        self._kept[0].touch(kind, keys)
        if self._kept[0].is_far_behind:
            self._kept = None
