"""What the plans of one cycle are made on: one state of the cluster, with what earlier plans of the cycle have left of it.

A repaired plan decides about a few pods. Made on a snapshot of its own, it would take as long as the cluster is large.
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
    """Keeps a planning cache in step with a live cluster, as long as a cycle lasts."""

    def __init__(self, live: LiveCluster) -> None:
        self._live = live
        self._kept: tuple[TrailingState, PlanningCache] | None = None

    @contextmanager
    def cycle(self) -> Iterator[None]:
        """Keep what plans leave; nothing of it outlives the block."""
        self._live.listeners.append(self._touch)
        try:
            yield
        finally:
            self._live.listeners.remove(self._touch)
            self._kept = None

    def snapshot(
        self, rules: CycleRules, usage: Mapping[UsageQuery, QueryResult], changes: Sequence[UsageChange]
    ) -> ClusterSnapshot:
        """The cluster as it is now, with usage and what moves have changed of it; WatchEndedError as ``LiveCluster``."""
        minor = rules.policy.restow.scheduler_minor or self._live.server_minor
        return replace(self._live.snapshot(), usage=usage, usage_changes=changes, server_minor=minor)

    def now(
        self, rules: CycleRules, usage: Mapping[UsageQuery, QueryResult], changes: Sequence[UsageChange]
    ) -> PlanningCache:
        """The cluster as it is now, as ``snapshot``, with what earlier plans have left of it."""
        if self._kept is None or not self._kept[0].catch_up(self._live.store, self._live.not_known):
            trailing = TrailingState(self.snapshot(rules, usage, changes), self._live.store)
            self._kept = trailing, PlanningCache.of(trailing.state, rules.profiles)
        else:
            self._kept[0].use(usage, changes)
        return self._kept[1]

    def _touch(self, kind: str, keys: Iterable[Key]) -> None:
        if self._kept is not None:
            self._kept[0].touch(kind, keys)
