"""descheduler/v1alpha1 as it was written: every field of any release from v0.1 to v0.30.

Struct names are the Go types' names: decode errors quote them. Source: descheduler v0.30, pkg/api/v1alpha1.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from restow.documents.field_types import Int, Uint
from restow.kube.objects import Int32, LabelSelector
from restow.policies.arguments import Namespaces, Thresholds


class NodeResourceUtilizationThresholds(Struct, frozen=True, rename="camel"):
    """Parameters of the two utilisation strategies."""

    use_deviation_thresholds: bool = False
    thresholds: Thresholds | None = None
    target_thresholds: Thresholds | None = None
    number_of_nodes: Int = 0


class PodsHavingTooManyRestarts(Struct, frozen=True, rename="camel"):
    """Parameters of RemovePodsHavingTooManyRestarts."""

    pod_restart_threshold: Int32 = 0
    including_init_containers: bool = False


class RemoveDuplicates(Struct, frozen=True, rename="camel"):
    """Parameters of RemoveDuplicates."""

    exclude_owner_kinds: tuple[str, ...] = ()


class PodLifeTime(Struct, frozen=True, rename="camel"):
    """Parameters of PodLifeTime; ``pod_status_phases`` is the older word for ``states``."""

    max_pod_life_time_seconds: Uint | None = None
    states: tuple[str, ...] = ()
    pod_status_phases: tuple[str, ...] = ()


class FailedPods(Struct, frozen=True, rename="camel"):
    """Parameters of RemoveFailedPods."""

    exclude_owner_kinds: tuple[str, ...] = ()
    min_pod_lifetime_seconds: Uint | None = None
    reasons: tuple[str, ...] = ()
    including_init_containers: bool = False


class StrategyParameters(Struct, frozen=True, rename="camel"):
    """The parameters of all strategies in one."""

    node_resource_utilization_thresholds: NodeResourceUtilizationThresholds = NodeResourceUtilizationThresholds()
    node_affinity_type: tuple[str, ...] = ()
    pods_having_too_many_restarts: PodsHavingTooManyRestarts = PodsHavingTooManyRestarts()
    pod_life_time: PodLifeTime = PodLifeTime()
    #: Where v0.18 and v0.19 had it; under ``podLifeTime`` since.
    max_pod_life_time_seconds: Uint | None = None
    remove_duplicates: RemoveDuplicates = RemoveDuplicates()
    failed_pods: FailedPods = FailedPods()
    include_soft_constraints: bool = False
    namespaces: Namespaces | None = None
    threshold_priority: Int32 | None = None
    threshold_priority_class_name: str = ""
    label_selector: LabelSelector | None = None
    node_fit: bool = False
    include_prefer_no_schedule: bool = False
    excluded_taints: tuple[str, ...] = ()
    included_taints: tuple[str, ...] = ()


class DeschedulerStrategy(Struct, frozen=True):
    """One strategy; ``weight`` never meant anything."""

    enabled: bool = False
    weight: Int = 0
    params: StrategyParameters = StrategyParameters()


class DeschedulerPolicy(Struct, frozen=True, rename="camel"):
    """The whole file."""

    api_version: str = ""
    kind: str = ""
    strategies: dict[str, DeschedulerStrategy] | None = None
    node_selector: str | None = None
    evict_failed_bare_pods: bool | None = None
    evict_local_storage_pods: bool | None = None
    evict_daemon_set_pods: bool | None = None
    evict_system_critical_pods: bool | None = None
    ignore_pvc_pods: bool | None = None
    max_no_of_pods_to_evict_per_node: Uint | None = None
    max_no_of_pods_to_evict_per_namespace: Uint | None = None
    max_no_of_pods_to_evict_total: Uint | None = None
    #: restow's own section; it moves over as it is.
    restow: Any = None
