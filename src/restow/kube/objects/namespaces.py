"""Namespace, and other kinds with few fields that count: PriorityClass, PodDisruptionBudget, ConfigMap."""

from __future__ import annotations

from msgspec import Struct

from restow.kube.objects.metadata import Int32, LabelSelector, ObjectMeta


class Namespace(Struct, frozen=True, gc=False):
    """A v1 Namespace: its labels are what selectors read."""

    metadata: ObjectMeta = ObjectMeta()


class PriorityClass(Struct, frozen=True, gc=False, rename="camel"):
    """A scheduling.k8s.io/v1 PriorityClass."""

    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False


class ConfigMap(Struct, frozen=True, gc=False):
    """Texts by name."""

    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] | None = None


class PodDisruptionBudgetSpec(Struct, frozen=True, gc=False, rename="camel"):
    """Spec of a policy/v1 PodDisruptionBudget."""

    selector: LabelSelector | None = None
    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Struct, frozen=True, gc=False, rename="camel"):
    """Status of a policy/v1 PodDisruptionBudget as the disruption controller keeps it."""

    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    disrupted_pods: dict[str, str] | None = None


class PodDisruptionBudget(Struct, frozen=True, gc=False):
    """A policy/v1 PodDisruptionBudget."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
