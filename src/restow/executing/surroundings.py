"""What an execution needs: the newest state of the cluster and a client that evicts, as protocols, and the policy's settings.

The settings say how patiently a plan is carried out, in seconds, and in which windows of time (``restow.windows``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

from cronsim import CronSim
from msgspec import Struct, field

from restow.client import eviction
from restow.client.objects import ObjectRef
from restow.client.transport import Api, Permit
from restow.cluster.nodes import NodeRow
from restow.cluster.pod_values import PodNow
from restow.executing.task import Task
from restow.kube.duration import SECOND
from restow.kube.objects import OwnerReference
from restow.policies.policy import Namespaces, RestowSettings, VetoSettings, Window
from restow.workloads.groups import GroupKind, group_kinds

#: Seconds since the epoch, for what the clocks of the cluster say: windows, and timestamps of objects.
Clock = Callable[[], float]


class ClusterView(Protocol):
    """The cluster as it is now; ``live.cluster.LiveCluster`` is one."""

    @property
    def interruptions(self) -> int:
        """How often the watches of nodes or pods have been interrupted so far."""
        ...

    def unknown(self, kinds: Iterable[str]) -> str | None:
        """Why one of these kinds is not known now; None if all are."""
        ...

    def age(self, kind: str) -> float:
        """How old restow's knowledge of a kind is, in seconds."""
        ...

    def pod(self, namespace: str, name: str) -> PodNow | None:
        """A pod; None if it is gone."""
        ...

    def pods_of(self, namespace: str, owner: str) -> list[PodNow]:
        """The pods of a namespace that name an owner (a uid), terminating ones too.

        An owner is in the namespace of its pods: pods of other namespaces that name its uid do not count.
        """
        ...

    def takes_pods(self, node: str) -> bool:
        """Whether a node is there and not cordoned."""
        ...

    def node_row(self, node: str) -> NodeRow | None:
        """Everything that is known of a node; None if there is no such node."""
        ...

    def opt_out(self, namespace: str) -> str | None:
        """The value of a namespace's annotation (``descheduling.protections``); None if it has none."""
        ...

    def replicas(self, namespace: str, owner: OwnerReference) -> int | None:
        """The wanted replicas of a ReplicaSet or ReplicationController; None for other kinds, or if unknown."""
        ...

    def has_room(self, budget: str) -> bool:
        """Whether a disruption budget (namespace/name) allows an eviction, as far as is known."""
        ...


class Evicting(Protocol):
    """A client that evicts."""

    async def evict(self, task: Task) -> eviction.Outcome:
        """Request an eviction and return the answer; NotPermitted if leadership has ended, and nothing was sent."""
        ...


class ApiEvictions(Struct, frozen=True):
    """Evictions through an API server."""

    api: Api
    #: Checked just before each request is sent.
    permit: Permit
    #: Seconds; None for each pod's own.
    grace_period: int | None = None

    async def evict(self, task: Task) -> eviction.Outcome:
        """Request an eviction, and return the outcome."""
        pod = task.move.pod
        target = ObjectRef(pod.namespace, pod.name, pod.uid)
        return await eviction.evict(self.api, target, permit=self.permit, grace_period=self.grace_period)


def elapsed() -> float:
    """The event loop's monotonic time (seconds), by which all durations are measured."""
    return asyncio.get_running_loop().time()


class ExecutionSettings(Struct, frozen=True):
    """How a plan is carried out, from the policy's ``restow:`` section."""

    #: How long a replacement may take until it is ready.
    ready: float = 300.0
    #: How long an eviction waits for its budget.
    budget: float = 300.0
    windows: tuple[Window, ...] = ()
    #: The namespaces whose pods may be evicted at all.
    namespaces: Namespaces = "all"
    #: The kinds of groups whose pods do not move alone; empty if the policy ignores groups.
    group_kinds: tuple[GroupKind, ...] = ()
    #: What other controllers forbid, of which restow takes notice.
    vetoes: VetoSettings = field(default_factory=VetoSettings)
    #: Whether a pod may be evicted later by another program if it asks for that (feature gate EvictionsInBackground).
    in_background: bool = False

    @staticmethod
    def of(policy: RestowSettings, *, in_background: bool = False) -> ExecutionSettings:
        """The settings of a policy; UnusablePackageError as ``group_kinds``."""
        return ExecutionSettings(
            ready=policy.wait_for_ready / SECOND,
            budget=policy.wait_for_budget / SECOND,
            windows=policy.windows,
            namespaces=policy.namespaces,
            group_kinds=() if policy.groups == "alone" else group_kinds(policy.group_label),
            vetoes=policy.vetoes,
            in_background=in_background,
        )


def closed(windows: Sequence[Window], now: float) -> str | None:
    """Why nothing may be evicted at a time (seconds since the epoch); None if it may."""
    if not windows or any(_is_open(each, now) for each in windows):
        return None
    starts = [start for each in windows if (start := _next_start(each, now)) is not None]
    opens = f"the next opens at {min(starts).isoformat(timespec='seconds')}" if starts else "none will open again"
    return f"no window of the policy is open; {opens}"


def _is_open(window: Window, now: float) -> bool:
    # The latest start before the next second: a window is open from its very first moment on.
    at = _moment(window, now) + timedelta(seconds=1)
    start = next(CronSim(window.start, at, reverse=True), None)
    return start is not None and now < start.timestamp() + window.duration / SECOND


def _next_start(window: Window, now: float) -> datetime | None:
    return next(CronSim(window.start, _moment(window, now)), None)


def _moment(window: Window, now: float) -> datetime:
    return datetime.fromtimestamp(now, ZoneInfo(window.time_zone))
