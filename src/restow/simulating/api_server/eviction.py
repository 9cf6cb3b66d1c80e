"""The eviction API: a pod is deleted if its disruption budget allows it.

``cluster.budgets`` says which pods need none. A budget is charged at once, and given back by the disruption controller
when it sees that the pod is gone and another one is ready. Source: the eviction subresource of pods, Kubernetes 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from msgspec import structs

from restow.cluster.budgets import UNBUDGETED, unready_pod_is_exempt
from restow.cluster.pod_values import PHASES
from restow.kube.manifests import Pod, PodDisruptionBudget
from restow.simulating.api_server.changes import DISRUPTION_TARGET, with_condition
from restow.simulating.api_server.store import Store

#: HTTP status codes.
CREATED, FORBIDDEN, NOT_FOUND, TOO_MANY_REQUESTS, INTERNAL_ERROR = 201, 403, 404, 429, 500
#: Evictions of one budget that may be under way at a time.
_MOST_DISRUPTED: Final = 2000
#: The reason of the condition of a pod that was evicted.
EVICTED: Final = "EvictionByEvictionAPI"
_VIOLATES: Final = "Cannot evict pod as it would violate the pod's disruption budget."


@dataclass(slots=True, frozen=True)
class EvictionAnswer:
    """What the API server answers."""

    code: int
    message: str = ""

    @property
    def is_evicted(self) -> bool:
        """Whether the pod goes."""
        return self.code == CREATED


def evict(store: Store, namespace: str, name: str) -> EvictionAnswer:
    """Ask for the eviction of a pod."""
    pod: Pod | None = store.get("Pod", namespace, name)
    if pod is None:
        return EvictionAnswer(NOT_FOUND, f'pods "{name}" not found')
    if not (PHASES.get(pod.status.phase) in UNBUDGETED or pod.metadata.is_terminating):
        answer = _charged(store, pod)
        if answer is not None:
            return answer
    store.update(with_condition(pod, DISRUPTION_TARGET, "True", store.clock.text, EVICTED))
    store.delete("Pod", namespace, name)
    return EvictionAnswer(CREATED)


def _charged(store: Store, pod: Pod) -> EvictionAnswer | None:
    """Charge the budget of a pod; an answer if it does not allow the eviction."""
    covering = store.selecting("PodDisruptionBudget", pod)
    if len(covering) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        return EvictionAnswer(INTERNAL_ERROR, message)
    if not covering or (pod.ready_since is None and unready_pod_is_exempt(covering[0])):
        return None
    refused = _refusal(covering[0])
    if refused is None:
        status = covering[0].status
        disrupted = {**(status.disrupted_pods or {}), pod.metadata.name: store.clock.text}
        allowed = status.disruptions_allowed - 1
        status = structs.replace(status, disruptions_allowed=allowed, disrupted_pods=disrupted)
        store.update(structs.replace(covering[0], status=status))
    return refused


def _refusal(budget: PodDisruptionBudget) -> EvictionAnswer | None:
    status, name = budget.status, budget.metadata.name
    if status.observed_generation < budget.metadata.generation:
        return EvictionAnswer(
            TOO_MANY_REQUESTS, f"The disruption budget {name} is still being processed by the server."
        )
    if status.disruptions_allowed < 0:
        return EvictionAnswer(FORBIDDEN, "pdb disruptions allowed is negative")
    if len(status.disrupted_pods or {}) > _MOST_DISRUPTED:
        return EvictionAnswer(
            FORBIDDEN, "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        )
    if status.disruptions_allowed == 0:
        cause = f"needs {status.desired_healthy} healthy pods and has {status.current_healthy} currently"
        return EvictionAnswer(TOO_MANY_REQUESTS, f"{_VIOLATES} The disruption budget {name} {cause}")
    return None
