"""A simulated cluster as the executor of plans sees it: always known, and as new as can be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from restow.client import eviction
from restow.cluster.nodes import NodeRow
from restow.cluster.pod_values import NO_VETOES, PHASES, Flag, Phase, PodVetoes
from restow.cluster.pod_vetoes import vetoes_of
from restow.cluster.pods_now import PodNow
from restow.cluster.snapshot import ClusterSnapshot
from restow.executing.settings import elapsed
from restow.executing.task import Task
from restow.kube.manifests import Node, Pod
from restow.kube.objects import OwnerReference, PodAnnotations, Volume
from restow.simulating.eviction import INTERNAL_ERROR, NOT_FOUND, TOO_MANY_REQUESTS, EvictionAnswer
from restow.simulating.indexes import key_of
from restow.simulating.pod_rows import time_of
from restow.simulating.simulation import VirtualCluster
from restow.workloads.replica_sets import wanted_replicas

#: Seconds between two looks at what is waited for.
_LOOK: Final = 0.1


class ExecutionView:
    """A ``ClusterView`` of a simulated cluster."""

    #: Nothing ever breaks off.
    interruptions = 0

    def __init__(self, simulation: VirtualCluster) -> None:
        self._store, self._view = simulation.store, simulation.view

    @property
    def _cluster(self) -> ClusterSnapshot:
        return self._view.state.cluster

    def unknown(self, _kinds: Iterable[str]) -> str | None:
        """No kind is unknown."""
        return None

    def age(self, _kind: str) -> float:
        """Everything is as it is now."""
        return 0.0

    def pod(self, namespace: str, name: str) -> PodNow | None:
        """A pod; None if it is gone."""
        found: Pod | None = self._store.get("Pod", namespace, name)
        return None if found is None else _as_seen(found)

    def pods_of(self, namespace: str, owner: str) -> list[PodNow]:
        """The pods of a namespace that name an owner (a uid), by name, terminating ones too."""
        found = (pod for pod in self._store.owned(owner, "Pod") if pod.metadata.namespace == namespace)
        return [_as_seen(pod) for pod in sorted(found, key=key_of)]

    def takes_pods(self, node: str) -> bool:
        """Whether a node is there and not cordoned."""
        found: Node | None = self._store.get("Node", "", node)
        return found is not None and not found.spec.unschedulable

    def node_row(self, node: str) -> NodeRow | None:
        """Everything that is known of a node; None if there is no such node."""
        nodes = self._cluster.nodes
        return nodes.row(nodes.index[node]) if node in nodes.index else None

    def opt_out(self, namespace: str) -> str | None:
        """The value of a namespace's annotation ``restow.dev/eviction``; None if it has none."""
        found = self._cluster.kind("Namespace").get(("", namespace))
        annotations = None if found is None else found.metadata.annotations
        return None if annotations is None else annotations.eviction

    def replicas(self, namespace: str, owner: OwnerReference) -> int | None:
        """How many pods a ReplicaSet or ReplicationController wants; None of other kinds, or if it is gone."""
        return wanted_replicas(self._cluster.kind(owner.kind).get((namespace, owner.name)), owner)

    def has_room(self, budget: str) -> bool:
        """Whether a disruption budget (namespace/name) allows an eviction; one that is gone does."""
        namespace, _, name = budget.partition("/")
        found = self._store.get("PodDisruptionBudget", namespace, name)
        return found is None or found.status.disruptions_allowed > 0

    async def wait_for(self, predicate: Callable[[], bool], deadline: float) -> bool:
        """Wait until something holds; False if it still does not at ``deadline``, in the event loop's time."""
        while not predicate():
            if elapsed() >= deadline:
                return False
            await asyncio.sleep(_LOOK)
        return True


class SimulatedEvictions:
    """Evictions by the API of a simulated cluster; ``ask`` asks it for one."""

    def __init__(self, ask: Callable[[Task], EvictionAnswer]) -> None:
        self._ask = ask

    async def evict(self, task: Task) -> eviction.Outcome:
        """The answer, at once."""
        return as_outcome(self._ask(task))


def as_outcome(answer: EvictionAnswer) -> eviction.Outcome:
    """An answer of the simulated API, as a client takes it."""
    if answer.is_evicted:
        return eviction.EvictionAccepted()
    if answer.code == NOT_FOUND:
        return eviction.AlreadyGone(answer.message)
    if answer.code == TOO_MANY_REQUESTS:
        return eviction.BudgetExhausted(answer.message, answer.message, None)
    if answer.code == INTERNAL_ERROR:
        return eviction.Misconfigured(answer.message)
    return eviction.EvictionFailed(answer.message, answer.code)


def _as_seen(pod: Pod) -> PodNow:
    metadata = pod.metadata
    return PodNow(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        node=pod.node or None,
        phase=PHASES.get(pod.status.phase, Phase.UNKNOWN),
        flags=Flag.TERMINATING if metadata.is_terminating else Flag(0),
        owners=metadata.owner_references or (),
        conditions=pod.status.conditions or (),
        created=time_of(metadata.creation_timestamp),
        labels=metadata.labels or {},
        started=time_of(pod.status.start_time),
        vetoes=_vetoes(pod),
    )


def _vetoes(pod: Pod) -> PodVetoes:
    if not pod.metadata.annotations:
        return NO_VETOES
    volumes = msgspec.convert(pod.spec.get("volumes") or (), tuple[Volume, ...])
    return vetoes_of(msgspec.convert(pod.metadata.annotations, PodAnnotations), volumes)
