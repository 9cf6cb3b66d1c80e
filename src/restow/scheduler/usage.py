"""The usage of nodes, for profiles that score by it: read from metrics.k8s.io in intervals, concurrently with scheduling.

Samples are kept for the widest window of a profile, so that mean and deviation become known after a while. Scheduling
never waits for them. Without a sample for five minutes, usage is unknown, and all nodes score alike.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from restow.client.transport import Api
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore
from restow.errors import ClientError
from restow.kube.excerpts import described
from restow.kube.timestamps import SECOND
from restow.live.reading import read_kinds
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.scheduling.plugins.load_variation import NAME, LoadVariationRiskBalancingArgs
from restow.usage.measured import RecentUsage, node_usage, time_of, with_sample

#: Seconds between two samples. The metrics server measures every 15 s by default.
INTERVAL: Final = 30.0
#: Seconds after which the last sample is out of date.
TRUSTED: Final = 300.0
#: The longest window, in seconds, of which samples are kept.
LONGEST: Final = 3600
#: Seconds for one answer.
_PATIENCE: Final = 15.0
_METRICS: Final = "NodeMetrics"


def usage_window(profiles: Iterable[SchedulerProfile]) -> int:
    """Return the seconds of samples that profiles need; 0 where none of them scores by usage."""
    args = (each.arguments.get(NAME, LoadVariationRiskBalancingArgs()) for each in profiles if each.runs(NAME, "score"))
    return max((min(each.window_seconds, LONGEST) for each in args), default=0)


def usage_problems(profiles: Iterable[SchedulerProfile]) -> Iterator[str]:
    """Yield the sources of usage that profiles name and a scheduler does not read."""
    for profile in profiles:
        args = profile.arguments.get(NAME, LoadVariationRiskBalancingArgs())
        source = "watcherAddress" if args.watcher_address else args.metric_provider.type
        if profile.runs(NAME, "score") and source not in ("", "KubernetesMetricsServer"):
            yield (
                f"profile {profile.name}: {NAME} asks for usage from {source}; restow scheduler reads metrics.k8s.io: "
                "leave watcherAddress and metricProvider out"
            )


@dataclass(slots=True)
class UsageWatch:
    """Polls the usage of nodes and passes it on; None when it is out of date."""

    api: Api
    #: Seconds of samples to keep.
    window: int
    publish: Callable[[RecentUsage | None], None]
    warn: Callable[[str], None]
    _known: RecentUsage | None = None
    #: When a sample was read last, in the event loop's time.
    _read_at: float = float("-inf")
    #: The last problem that was logged.
    _problem: str = field(default="", init=False)

    async def follow(self) -> None:
        """Poll until cancelled."""
        while True:
            await self._look()
            await asyncio.sleep(INTERVAL)

    async def _look(self) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                problem = await self._read()
        except TimeoutError:
            problem = f"metrics.k8s.io has not answered within {_PATIENCE:.0f} s"
        except Exception as error:  # noqa: BLE001  whatever is wrong with it, pods are scheduled, and old samples expire
            problem = str(error) if isinstance(error, ClientError) else described(error)
        self._note(problem)
        if self._known is not None and _now() - self._read_at > TRUSTED:
            self._known = None
            self.publish(None)

    async def _read(self) -> str:
        """Take a sample; returns why there is none, or ''."""
        store = ClusterStore()
        for refused in await read_kinds(self.api.once(), (_METRICS,), store):
            return refused.why
        cluster, now = store.snapshot(), self.api.server_time.now()
        fresh = {name: at for name, at in _times(cluster, now).items() if now - at <= TRUSTED}
        if not fresh:
            return "metrics.k8s.io has no usage of any node"
        usage = node_usage(cluster)
        # A replica of the metrics server may be behind the one that answered before.
        at = max(int(max(fresh.values())), 0 if self._known is None else self._known.end)
        self._known = with_sample(self._known, at, {name: usage[name] for name in fresh}, self.window)
        self._read_at = _now()
        self.publish(self._known)
        return ""

    def _note(self, problem: str) -> None:
        """Log a problem when it begins and when it ends."""
        if problem and not self._problem:
            self.warn(f"the usage of nodes is not read: {problem}; without it {NAME} scores all nodes alike")
        elif self._problem and not problem:
            self.warn("the usage of nodes is read again")
        self._problem = problem


def _times(cluster: ClusterSnapshot, now: float) -> dict[str, float]:
    """When the usage of each node was measured, in seconds since the epoch; now if no time is given."""
    names = [name for _, name in cluster.kind(_METRICS)]
    measured = {name: time_of(cluster, name) for name in names}
    return {name: now if at is None else min(at / SECOND, now) for name, at in measured.items()}


def _now() -> float:
    return asyncio.get_running_loop().time()
