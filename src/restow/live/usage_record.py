"""Samples of what nodes and pods use, as metrics.k8s.io gives them, kept for a window and read by ``restow.usage``.

There is one sample in each interval of the spacing, however often metrics.k8s.io is asked, so that a window has as many
as a policy may ask for. Figures of nodes are kept as they were measured, not as means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from restow.cluster.snapshot import Key
from restow.errors import OutOfRangeError
from restow.kube.objects import NodeMetrics, PodMetrics
from restow.kube.timestamps import SECOND
from restow.usage.measured import KEY, OF_PODS, Amounts, RecentUsage, measured_at, pod_usage, usage_of_node, with_sample

#: Where the samples of each kind are kept.
_KEYS: Final[Mapping[str, Key]] = {"NodeMetrics": KEY, "PodMetrics": OF_PODS}

#: Objects that are read before something else has its turn.
_AT_ONCE: Final = 2000


class UsageRecord:
    """The samples so far; none are taken before ``keep`` says how many."""

    def __init__(self) -> None:
        #: By key, as a snapshot has them.
        self.known: Mapping[Key, RecentUsage] = {}
        self._window = 0
        self._spacing = 1

    def keep(self, window: int, spacing: int) -> None:
        """Keep the samples of a window from now on, one in every ``spacing`` seconds; forget all for a window of 0."""
        self._window, self._spacing = window, max(spacing, 1)
        if not window:
            self.known = {}

    async def take(self, kind: str, objects: Sequence[Any], now: float) -> None:
        """Take the metrics of all nodes, or of all pods, as a sample, if it is time for one."""
        before = self.known.get(_KEYS[kind])
        end = 0 if before is None else before.end
        if not self._window or not self._is_time(now, end):
            return
        at = min(_newest(objects, now), now)
        used: dict[str, Amounts] = {}
        for first in range(0, len(objects), _AT_ONCE):
            used.update(each for metrics in objects[first : first + _AT_ONCE] if (each := _read(metrics, end)))
            await asyncio.sleep(0)
        if self._window and used and self._is_time(at, end):
            self.known = {**self.known, _KEYS[kind]: with_sample(before, int(at), used, self._window)}

    def _is_time(self, at: float, end: int) -> bool:
        return int(at) // self._spacing > end // self._spacing


def _newest(objects: Sequence[Any], now: float) -> float:
    """When the newest of some metrics was measured; those of pods are of now."""
    times = (measured_at(each) for each in objects if isinstance(each, NodeMetrics))
    return max((at / SECOND for at in times if at is not None), default=now)


def _read(metrics: NodeMetrics | PodMetrics, end: int) -> tuple[str, Amounts] | None:
    """Name and usage; None if that cannot be read, or is of a node that has not been measured since the last sample."""
    try:
        if isinstance(metrics, PodMetrics):
            return f"{metrics.metadata.namespace}/{metrics.metadata.name}", pod_usage(metrics)
        at = measured_at(metrics)
        return None if at is not None and at <= end * SECOND else (metrics.metadata.name, usage_of_node(metrics))
    except (ValueError, OutOfRangeError):
        # The reader reports what is wrong with it.
        return None
