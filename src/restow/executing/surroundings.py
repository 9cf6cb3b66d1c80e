"""What an execution needs, as protocols: the newest state of the cluster, and a client that evicts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from restow.client import eviction
from restow.client.leadership import Permit
from restow.client.transport import Api
from restow.cluster.nodes import NodeRow
from restow.cluster.pods_now import PodNow
from restow.executing.task import Task
from restow.kube.objects import OwnerReference


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


@dataclass(slots=True, frozen=True)
class ApiEvictions:
    """Evictions through an API server."""

    api: Api
    #: Checked just before each request is sent.
    permit: Permit
    #: Seconds; None for each pod's own.
    grace_period: int | None = None

    async def evict(self, task: Task) -> eviction.Outcome:
        """Request an eviction, and return the outcome."""
        pod = task.move.pod
        target = eviction.EvictionTarget(pod.namespace, pod.name, pod.uid)
        return await eviction.evict(self.api, target, permit=self.permit, grace_period=self.grace_period)
