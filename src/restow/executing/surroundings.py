"""What an execution needs of the world, as protocols: the newest state of the cluster, and somebody who evicts."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from typing import Protocol

from restow.client import eviction
from restow.client.permitted_body import Permit
from restow.client.transport import Api
from restow.cluster.pods_now import PodNow
from restow.executing.outcomes import Outcome
from restow.executing.task import Task


class ClusterView(Protocol):
    """The cluster as it is now; ``live.cluster.LiveCluster`` is one."""

    @property
    def interruptions(self) -> int:
        """How often the news of nodes or pods have broken off so far."""
        ...

    def unknown(self, kinds: Iterable[str]) -> str | None:
        """Why nobody knows what there is of one of these kinds now; None if all are known."""
        ...

    def age(self, kind: str) -> float:
        """Seconds since what is known of a kind was up to date."""
        ...

    def pod(self, namespace: str, name: str) -> PodNow | None:
        """A pod; None if it is gone."""
        ...

    def pods_of(self, owner: str) -> list[PodNow]:
        """The pods that name an owner (a uid), terminating ones too."""
        ...

    def takes_pods(self, node: str) -> bool:
        """Whether a node is there and not cordoned."""
        ...

    def opt_out(self, namespace: str) -> str | None:
        """What a namespace says of evictions, as in ``descheduling.namespace_opt_out``; None if nothing."""
        ...

    def has_room(self, budget: str) -> bool:
        """Whether a disruption budget (namespace/name) allows an eviction, as far as is known."""
        ...


class Evicting(Protocol):
    """Asks for one eviction."""

    async def evict(self, task: Task) -> eviction.Outcome:
        """The answer; NotPermitted where leadership has ended, and nothing was sent."""
        ...


class Executor(Protocol):
    """Makes the moves of a plan, or tells what it would do."""

    def carry_out(self, tasks: Iterable[Task]) -> AsyncGenerator[Outcome, None]:
        """What becomes of the tasks, as it happens; each has one ending."""
        ...


@dataclass(slots=True, frozen=True)
class ApiEvictions:
    """Evictions through an API server."""

    api: Api
    #: Asked just before each request goes out.
    permit: Permit
    #: Seconds; None for each pod's own.
    grace_period: int | None = None

    async def evict(self, task: Task) -> eviction.Outcome:
        """The API server's answer."""
        pod = task.move.pod
        target = eviction.Target(pod.namespace, pod.name, pod.uid)
        return await eviction.evict(self.api, target, permit=self.permit, grace_period=self.grace_period)
