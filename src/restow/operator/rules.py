"""Which values of a resource exclude one another, and the conditions that problems with it make.

The API server has the same rules, in CEL, with the same messages. They are checked here too: a resource may be older than
the rules, and a file has not been near an API server. Upstream puts the sentence into the reason of a condition and omits
some errors; here a reason is one word in CamelCase, the sentence is the message, and every error is reported.
Source: cluster-kube-descheduler-operator 5.4, the rules of its CustomResourceDefinition and of its reconciler.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct

from restow.kube.excerpts import excerpt
from restow.operator.resource import (
    NAME,
    KubeDeschedulerSpec,
    NamespaceSelection,
    ProfileCustomizations,
    ResourceMetadata,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


#: The condition of OpenShift's operator, and the word that everyone looks for.
DEGRADED: Final = ("TargetConfigControllerDegraded", "Degraded")
#: Whether something of the resource has less effect than it says.
LIMITED: Final = "Limited"
AS_EXPECTED: Final = "AsExpected"
#: Profiles that exclude each other, in the order in which the API server checks them.
CONFLICTS: Final = (
    ("DevPreviewLongLifecycle", "LifecycleAndUtilization"),
    ("LongLifecycle", "LifecycleAndUtilization"),
    ("DevPreviewLongLifecycle", "DevKubeVirtRelieveAndMigrate"),
    ("LongLifecycle", "DevKubeVirtRelieveAndMigrate"),
    ("LifecycleAndUtilization", "DevKubeVirtRelieveAndMigrate"),
    ("KubeVirtRelieveAndMigrate", "DevKubeVirtRelieveAndMigrate"),
    ("DevPreviewLongLifecycle", "KubeVirtRelieveAndMigrate"),
    ("LongLifecycle", "KubeVirtRelieveAndMigrate"),
    ("LifecycleAndUtilization", "KubeVirtRelieveAndMigrate"),
    ("SoftTopologyAndDuplicates", "TopologyAndDuplicates"),
    ("CompactAndScale", "LifecycleAndUtilization"),
    ("CompactAndScale", "LongLifecycle"),
    ("CompactAndScale", "DevPreviewLongLifecycle"),
    ("CompactAndScale", "DevKubeVirtRelieveAndMigrate"),
    ("CompactAndScale", "KubeVirtRelieveAndMigrate"),
    ("CompactAndScale", "TopologyAndDuplicates"),
)
DUPLICATES: Final = "duplicate profiles are not allowed"
SINGLETON: Final = f"kubedescheduler is a singleton, .metadata.name must be '{NAME}'"
BOTH_PRIORITIES: Final = (
    "It is invalid to set both .spec.profileCustomizations.thresholdPriority and "
    ".spec.profileCustomizations.ThresholdPriorityClassName fields"
)
BOTH_THRESHOLDS: Final = (
    "only one of DevLowNodeUtilizationThresholds and DevDeviationThresholds customizations can be configured "
    "simultaneously"
)
NEGATIVE_LIFETIME: Final = "podLifetime must not be negative"
KUBEVIRT_PROFILES: Final = frozenset({"KubeVirtRelieveAndMigrate", "DevKubeVirtRelieveAndMigrate"})
#: Protected in every cluster, in the order in which policies name them.
_ALWAYS: Final = ("kube-system", "hypershift", "openshift")
_PREFIXES: Final = ("openshift-", "hypershift")


@dataclass(slots=True, frozen=True)
class Problem:
    """A reason why no policy follows from the resource."""

    reason: str
    message: str
    #: Whether the previous policy must not stay in force: the descheduler is stopped. Otherwise it keeps its policy.
    stops: bool = False


@dataclass(slots=True, frozen=True)
class Notice:
    """Something that the resource says and that has less effect than one would think."""

    reason: str
    message: str


class OperatorCondition(Struct, frozen=True):
    """A condition without its time, which depends on the condition before."""

    type: str
    status: Literal["True", "False"]
    reason: str
    message: str = ""


def conditions_of(problems: Sequence[Problem], notices: Sequence[Notice]) -> tuple[OperatorCondition, ...]:
    """Return the conditions that follow from the resource and its cluster alone; the first problem gives the reason."""
    degraded = tuple(_condition(each, problems) for each in DEGRADED)
    return (*degraded, _condition(LIMITED, notices))


def _condition(kind: str, causes: Sequence[Problem | Notice]) -> OperatorCondition:
    if not causes:
        return OperatorCondition(kind, "False", AS_EXPECTED)
    return OperatorCondition(kind, "True", causes[0].reason, "; ".join(each.message for each in causes))


def check_name(metadata: ResourceMetadata, namespace: str) -> Iterator[Problem]:
    """Yield why this is not the object that counts; a file need not say where it will be."""
    if metadata.name != NAME:
        yield Problem("NotTheSingleton", SINGLETON)
    if metadata.namespace not in {"", namespace}:
        yield Problem("NotTheSingleton", f"only the KubeDescheduler in the namespace {namespace} counts")


def check_spec(spec: KubeDeschedulerSpec) -> Iterator[Problem]:
    """Yield everything that is invalid in a spec in any cluster; the first is what the API server would report."""
    yield from _numbers(spec)
    if len(set(spec.profiles)) < len(spec.profiles):
        yield Problem("DuplicateProfiles", DUPLICATES, stops=True)
    for one, other in CONFLICTS:
        if one in spec.profiles and other in spec.profiles:
            yield Problem(
                "ConflictingProfiles", f"cannot declare {one} and {other} profiles simultaneously", stops=True
            )
    if not spec.profiles:
        yield Problem("NoProfiles", "descheduler should have at least 1 profile enabled")
    yield from _customizations(spec)


def _numbers(spec: KubeDeschedulerSpec) -> Iterator[Problem]:
    limits = spec.eviction_limits
    for field, value in (
        ("deschedulingIntervalSeconds", spec.descheduling_interval_seconds),
        ("evictionLimits.total", limits.total),
        ("evictionLimits.node", limits.node),
    ):
        if value is not None and value < 0:
            text = f"spec.{field} in body should be greater than or equal to 0"
            yield Problem("NegativeNumber", text, stops=True)


def _customizations(spec: KubeDeschedulerSpec) -> Iterator[Problem]:
    custom = spec.profile_customizations
    if custom.pod_lifetime is not None and custom.pod_lifetime < 0:
        yield Problem("NegativeNumber", f"spec.profileCustomizations.{NEGATIVE_LIFETIME}", stops=True)
    if KUBEVIRT_PROFILES.intersection(spec.profiles) and _has_both_thresholds(custom):
        yield Problem("ThresholdsInTwoForms", BOTH_THRESHOLDS)
    if custom.threshold_priority is not None and custom.threshold_priority_class_name:
        yield Problem("PriorityInTwoForms", BOTH_PRIORITIES)


def _has_both_thresholds(custom: ProfileCustomizations) -> bool:
    return bool(custom.dev_low_node_utilization_thresholds and custom.dev_deviation_thresholds)


def _is_protected(namespace: str) -> bool:
    """Whether no resource may have the pods of a namespace evicted, whether or not it is there yet."""
    return namespace in _ALWAYS or namespace.startswith(_PREFIXES)


def _protected(namespaces: Iterable[str]) -> tuple[str, ...]:
    """Return the protected namespaces of a cluster by name, after those that every cluster has."""
    return (*_ALWAYS, *sorted({each for each in namespaces if _is_protected(each)} - set(_ALWAYS)))


@dataclass(slots=True, frozen=True)
class NamespaceArgs:
    """The arguments of strategies about namespaces."""

    #: Of strategies that can include namespaces as well as exclude them.
    namespaces: dict[str, Any]
    #: Of the utilisation strategies, which can only exclude.
    evictable: dict[str, Any]


def scope_of(selection: NamespaceSelection, namespaces: Iterable[str]) -> NamespaceArgs:
    """Return the arguments for a selection in a cluster.

    What cannot include at least excludes the protected namespaces, which are never evictable.
    """
    closed = _protected(namespaces)
    if selection.included:
        return NamespaceArgs({"include": [*selection.included]}, {"exclude": [*closed]})
    excluded = {"exclude": [*closed, *selection.excluded]}
    return NamespaceArgs(excluded, excluded)


def check_selection(selection: NamespaceSelection, namespaces: Iterable[str]) -> Iterator[Problem]:
    """Yield why namespaces cannot be selected like this."""
    if selection.included and selection.excluded:
        yield Problem(
            "NamespacesIncludedAndExcluded", "It is forbidden to combine both included and excluded namespaces"
        )
    wrong = [each for each in selection.included if _is_protected(each)]
    closed = " ".join(_protected((*namespaces, *wrong)))
    for namespace in wrong:
        yield Problem(
            "ProtectedNamespaceIncluded",
            f"Protected namespace {excerpt(namespace)} included. It is forbidden to include any of the protected "
            f"namespaces from [{closed}]",
        )
