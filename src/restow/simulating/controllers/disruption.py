"""The disruption controller: how many pods of each budget may be disrupted now.

It computes ``disruptionsAllowed`` from ``minAvailable`` or ``maxUnavailable`` and the ready pods. Source: the
disruption controller, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from restow.kube.manifests import Pod, PodDisruptionBudget
from restow.kube.numbers import share
from restow.kube.objects import Condition
from restow.kube.timestamps import SECOND, parse_time
from restow.simulating.api_server.changes import with_status
from restow.simulating.api_server.indexes import Key, key_of, selector_of
from restow.simulating.api_server.store import ObjectEvent
from restow.simulating.controllers.owned_pods import WITH_REPLICAS
from restow.simulating.virtual_cluster import ObjectQueue, VirtualCluster

#: For how long an eviction counts whose pod does not begin to terminate.
_EVICTION_LASTS: Final = 120 * SECOND
_CONDITION: Final = "DisruptionAllowed"


class _NoScaleError(Exception):
    """Pods are controlled by something that has no number of replicas."""


class DisruptionController:
    """Keeps the status of every PodDisruptionBudget."""

    def __init__(self, simulation: VirtualCluster) -> None:
        self._store, self._clock = simulation.store, simulation.clock
        self._queue = ObjectQueue(simulation.clock, self._sync)
        self._store.subscribe("PodDisruptionBudget", self._queue.on_event)
        self._store.subscribe("Pod", self._on_pod_event)

    def _on_pod_event(self, event: ObjectEvent) -> None:
        for pod in (event.old, event.new):
            if pod is not None:
                for budget in self._store.selecting("PodDisruptionBudget", pod):
                    self._queue.add(key_of(budget))

    def _sync(self, key: Key) -> None:
        budget: PodDisruptionBudget | None = self._store.get("PodDisruptionBudget", *key)
        if budget is None:
            return
        pods = self._store.list("Pod", budget.metadata.namespace, selector_of(budget))
        disrupted = self._still_disrupted(budget, pods)
        healthy = sum(_is_healthy(pod) and pod.metadata.name not in disrupted for pod in pods)
        try:
            expected, desired = self._wanted(budget, pods)
        except _NoScaleError:
            self._write(
                budget, disruptions_allowed=0, observed_generation=budget.metadata.generation, reason="SyncFailed"
            )
            return
        allowed = max(0, healthy - desired) if expected > 0 else 0
        self._write(
            budget,
            disruptions_allowed=allowed,
            current_healthy=healthy,
            desired_healthy=desired,
            expected_pods=expected,
            disrupted_pods=disrupted or None,
            observed_generation=budget.metadata.generation,
            reason="SufficientPods" if allowed else "InsufficientPods",
        )
        if disrupted:
            first = min(map(parse_time, disrupted.values()))
            self._queue.add_after(key, max(SECOND, first + _EVICTION_LASTS - self._clock.now))

    def _write(self, budget: PodDisruptionBudget, reason: str, **counts: Any) -> None:
        status = "True" if counts["disruptions_allowed"] else "False"
        old = next(iter(budget.status.conditions or ()), None)
        since = old.last_transition_time if old is not None and old.status == status else self._clock.text
        condition = Condition(_CONDITION, status, reason, since)
        self._store.update(with_status(budget, conditions=(condition,), **counts))

    def _still_disrupted(self, budget: PodDisruptionBudget, pods: Iterable[Pod]) -> dict[str, str]:
        """The pods whose eviction was allowed and has not begun yet, with the time of that."""
        known = budget.status.disrupted_pods or {}
        there = {pod.metadata.name for pod in pods if not pod.metadata.is_terminating}
        return {
            name: time
            for name, time in known.items()
            if name in there and parse_time(time) + _EVICTION_LASTS > self._clock.now
        }

    def _wanted(self, budget: PodDisruptionBudget, pods: Sequence[Pod]) -> tuple[int, int]:
        """How many pods there are expected to be, and how many of them have to be healthy."""
        spec = budget.spec
        if spec.max_unavailable is not None:
            expected = self._scale(pods)
            return expected, max(0, expected - share(spec.max_unavailable, expected, up=True))
        if isinstance(spec.min_available, int):
            return len(pods), spec.min_available
        if spec.min_available is not None:
            expected = self._scale(pods)
            return expected, share(spec.min_available, expected, up=True)
        return 0, 0

    def _scale(self, pods: Iterable[Pod]) -> int:
        """The replicas of some pods' controllers, each counted once; pods without a controller count for nothing."""
        scales: dict[str, int] = {}
        for pod in pods:
            owner = pod.metadata.controller
            if owner is not None and owner.uid not in scales:
                found = self._scaled(pod.metadata.namespace, owner.kind, owner.name)
                scales[found.metadata.uid] = _replicas(found)
                scales.setdefault(owner.uid, 0)
        return sum(scales.values())

    def _scaled(self, namespace: str, kind: str, name: str) -> Any:
        found = self._store.get(kind, namespace, name) if kind in WITH_REPLICAS else None
        if found is None:
            raise _NoScaleError
        owner = found.metadata.controller
        return self._scaled(namespace, owner.kind, owner.name) if owner and owner.kind == "Deployment" else found


def _replicas(found: Any) -> int:
    return 1 if found.spec.replicas is None else int(found.spec.replicas)


def _is_healthy(pod: Pod) -> bool:
    return pod.ready_since is not None and not pod.metadata.is_terminating
