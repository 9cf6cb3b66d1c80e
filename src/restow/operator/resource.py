"""The resource: ``KubeDescheduler``, as OpenShift's operator has it and its users write it.

Every field is here, with the defaults that the CustomResourceDefinition (``deploy/operator/crd.yaml``) fills in, so that
a file which no API server has seen means the same. Source: operator.openshift.io/v1, cluster-kube-descheduler-operator 5.4.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from restow.documents.shapes import Duration
from restow.kube.objects import Int32, Int64

API_VERSION = "operator.openshift.io/v1"
KIND = "KubeDescheduler"
#: The one object that counts, and where it is.
NAME = "cluster"
NAMESPACE = "openshift-kube-descheduler-operator"

ProfileName = Literal[
    "AffinityAndTaints",
    "TopologyAndDuplicates",
    "SoftTopologyAndDuplicates",
    "LifecycleAndUtilization",
    "LongLifecycle",
    "DevPreviewLongLifecycle",
    "CompactAndScale",
    "EvictPodsWithPVC",
    "EvictPodsWithLocalStorage",
    "KubeVirtRelieveAndMigrate",
    "DevKubeVirtRelieveAndMigrate",
]
Mode = Literal["Predictive", "Automatic"]
ManagementState = Literal["Managed", "Unmanaged", "Force", "Removed"]
LogLevel = Literal["Normal", "Debug", "Trace", "TraceAll"]
Level = Literal["Low", "Medium", "High"]
PackingLevel = Literal["Minimal", "Modest", "Moderate"]
DeviationLevel = Literal["Low", "Medium", "High", "AsymmetricLow", "AsymmetricMedium", "AsymmetricHigh"]


class ResourceMetadata(Struct, frozen=True):
    """The part of the metadata that is read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: Int64 = 0


class EvictionLimits(Struct, frozen=True):
    """Evictions per cycle, in all and from one node; None leaves it to the profiles."""

    total: Int32 | None = None
    node: Int32 | None = None


class NamespaceSelection(Struct, frozen=True):
    """The namespaces whose pods may be evicted, or may not; at most one of the two."""

    included: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


class ProfileCustomizations(Struct, frozen=True, rename="camel", kw_only=True):
    """Changes to the profiles; an absent field leaves a profile as it is. Durations are nanoseconds."""

    pod_lifetime: Duration | None = None
    threshold_priority: Int32 | None = None
    threshold_priority_class_name: str = ""
    namespaces: NamespaceSelection = NamespaceSelection()
    dev_low_node_utilization_thresholds: Level | None = None
    dev_high_node_utilization_thresholds: PackingLevel | None = None
    dev_deviation_thresholds: DeviationLevel | None = None
    #: A name of ``facts.QUERIES``, or ``query:`` and PromQL.
    dev_actual_utilization_profile: str = ""
    dev_enable_evictions_in_background: bool = False
    #: Deprecated and ignored.
    dev_enable_soft_tainter: bool = False
    dev_migration_cooldown: Duration | None = None
    dev_max_migration_cooldown: Duration | None = None
    dev_migration_history_window: Duration | None = None


class KubeDeschedulerSpec(Struct, frozen=True, rename="camel", kw_only=True):
    """The spec of a KubeDescheduler."""

    profiles: tuple[ProfileName, ...] = ()
    #: 0 is a single run.
    descheduling_interval_seconds: Int32 = 3600
    mode: Mode = "Predictive"
    eviction_limits: EvictionLimits = EvictionLimits()
    profile_customizations: ProfileCustomizations = ProfileCustomizations()
    management_state: ManagementState = "Managed"
    log_level: LogLevel = "Normal"
    operator_log_level: LogLevel = "Normal"
    #: What OpenShift's operator wrote here; not read.
    observed_config: dict[str, Any] | None = None
    #: Not read, as in OpenShift's operator.
    unsupported_config_overrides: dict[str, Any] | None = None


class KubeDescheduler(Struct, frozen=True, rename="camel", kw_only=True):
    """A KubeDescheduler of operator.openshift.io/v1."""

    api_version: str = ""
    kind: str = ""
    metadata: ResourceMetadata = ResourceMetadata()
    spec: KubeDeschedulerSpec = KubeDeschedulerSpec()
    #: What an operator has written; it is not read.
    status: Any = None
