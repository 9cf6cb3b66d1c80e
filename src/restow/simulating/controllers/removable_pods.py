"""Which pods keep a cluster autoscaler from removing their node. Source: the drainability rules of cluster-autoscaler 1.36."""

from __future__ import annotations

from typing import Any, Final

from restow.kube.manifests import Pod, PodDisruptionBudget
from restow.simulating.selecting import selector_of
from restow.simulating.store import Store

SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
#: Names of volumes, with commas between, that may be lost.
SAFE_TO_LOSE: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
_SYSTEM: Final = "kube-system"


def stays_with_node(pod: Pod) -> bool:
    """Whether a pod goes with its node and is not moved: one of a DaemonSet, or one that a kubelet made of a file."""
    owner = pod.metadata.controller
    return (owner is not None and owner.kind == "DaemonSet") or pod.is_mirror


def may_be_moved(pod: Pod, store: Store) -> bool:
    """Whether a pod that is neither over nor being deleted may be evicted to remove its node.

    Its annotation says so or not; else it needs a controller, no local storage, and in ``kube-system`` a disruption
    budget. Every budget must have room.
    """
    said = pod.metadata.annotation(SAFE_TO_EVICT)
    budgets = [each for each in store.list("PodDisruptionBudget", pod.metadata.namespace) if _covers(each, pod)]
    if said == "false" or any(each.status.disruptions_allowed < 1 for each in budgets):
        return False
    if said == "true":
        return True
    is_system = pod.metadata.namespace == _SYSTEM and not budgets
    return pod.metadata.controller is not None and not is_system and not _has_local_storage(pod)


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    return selector_of(budget).matches(pod.metadata.labels or {})


def _has_local_storage(pod: Pod) -> bool:
    lost = (pod.metadata.annotation(SAFE_TO_LOSE) or "").split(",")
    return any(_is_local(each) and each.get("name") not in lost for each in pod.spec.get("volumes") or ())


def _is_local(volume: dict[str, Any]) -> bool:
    """Whether what a volume holds is on the node, and not in its memory."""
    directory = volume.get("emptyDir")
    return volume.get("hostPath") is not None or (directory is not None and directory.get("medium") != "Memory")
