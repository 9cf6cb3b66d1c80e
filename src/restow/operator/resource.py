"""The resource: ``KubeDescheduler``, as OpenShift's operator has it and its users write it, and how it is read.

Every field is here, with the defaults that the CustomResourceDefinition (``deploy/operator/crd.yaml``) fills in, so that
a file which no API server has seen means the same. Fields that do not exist or are written twice are refused in a file,
as kubectl refuses them; of an object of the API server such fields are gone already.
Source: operator.openshift.io/v1, cluster-kube-descheduler-operator 5.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final, Literal

from msgspec import Struct

from restow.documents.decoding import UnknownKey, decode, unknown_key
from restow.documents.document import DocumentKind, read_document, refusal
from restow.documents.findings import Issue, path_text
from restow.documents.shapes import Duration
from restow.errors import InputError
from restow.kube.excerpts import excerpt
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
_FILE: Final = DocumentKind("a KubeDescheduler", f"apiVersion: {API_VERSION}")
#: Enumerations for which the API takes an empty text, which means that nothing is set.
_EMPTY_MEANS_UNSET: Final = {
    ("spec",): ("logLevel", "operatorLogLevel"),
    ("spec", "profileCustomizations"): (
        "devLowNodeUtilizationThresholds",
        "devHighNodeUtilizationThresholds",
        "devDeviationThresholds",
    ),
}


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


def read_resource(text: bytes, filename: str) -> KubeDescheduler:
    """Return the resource of a file.

    Raises InputError with everything about its form that no API server would accept, one a line, with file, line and
    field. Which values exclude one another is the business of ``rules``.
    """
    document = read_document(text, filename, _FILE)
    if document.has_more:
        raise InputError(f"{filename}: holds several documents; put the {KIND} into a file of its own")
    wrong_kind = list(_wrong_kind(document.data))
    if wrong_kind:
        raise refusal(document, wrong_kind)
    decoded = decode(_plain(document.data), KubeDescheduler, ())
    twice = [Issue(path, "is written twice", hint="remove one of them") for path in document.duplicates]
    issues = [*twice, *decoded.errors, *(unknown_key(key) for key in decoded.unknown if _is_ours(key))]
    if decoded.value is None or issues:
        raise refusal(document, issues)
    return decoded.value


def resource_of(data: dict[str, Any]) -> KubeDescheduler:
    """Return the resource of an object of the API; InputError, one sentence a field, where it cannot be read."""
    decoded = decode(_plain(data), KubeDescheduler, ())
    if decoded.value is None:
        raise InputError(*map(_sentence, decoded.errors))
    return decoded.value


def _wrong_kind(data: dict[str, Any]) -> Iterator[Issue]:
    for key, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        written = data.get(key)
        if written != wanted:
            is_missing = written is None
            yield Issue((key,), f"must be {wanted}{'' if is_missing else f', not {excerpt(repr(written))}'}")


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """Return the object without the fields that the API adds for unset choices."""
    plain = deepcopy(data)
    for path, names in _EMPTY_MEANS_UNSET.items():
        inner: Any = plain
        for step in path:
            inner = inner.get(step) if isinstance(inner, dict) else None
        for name in names if isinstance(inner, dict) else ():
            if inner.get(name) == "":
                del inner[name]
    return plain


def _is_ours(key: UnknownKey) -> bool:
    """Whether an unknown key is an error: metadata has fields that are not read here."""
    return key.path[0] != "metadata"


def _sentence(issue: Issue) -> str:
    """Return an issue of an object that is in no file."""
    sentence = f"{path_text(issue.path)}: {issue.message}"
    return f"{sentence}; {issue.hint}" if issue.hint else sentence
