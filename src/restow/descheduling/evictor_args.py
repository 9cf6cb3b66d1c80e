"""The arguments of DefaultEvictor, the plugin of every profile that decides which pods may be evicted at all.

Source: descheduler v0.36, pkg/framework/plugins/defaultevictor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct, field

from restow.documents.findings import Issue
from restow.documents.shapes import Duration, Uint
from restow.kube.labels import parse_selector, selector_from
from restow.kube.objects import LabelSelector
from restow.policies.arguments import PluginArgs, PriorityThreshold
from restow.policies.schema import DEFAULT_EVICTOR, PluginSchema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Protections that hold unless ``podProtections.defaultDisabled`` names them, in upstream's order.
DEFAULT_PROTECTIONS = ("PodsWithLocalStorage", "SystemCriticalPods", "FailedBarePods", "DaemonSetPods")
#: Protections that hold only if ``podProtections.extraEnabled`` names them, in upstream's order.
EXTRA_PROTECTIONS = ("PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims")

#: Deprecated switches of DefaultEvictor by their fields: the key of each, and what replaces it.
DEPRECATED = {
    "evict_local_storage_pods": ("evictLocalStoragePods", "defaultDisabled: [PodsWithLocalStorage]"),
    "evict_daemon_set_pods": ("evictDaemonSetPods", "defaultDisabled: [DaemonSetPods]"),
    "evict_system_critical_pods": ("evictSystemCriticalPods", "defaultDisabled: [SystemCriticalPods]"),
    "evict_failed_bare_pods": ("evictFailedBarePods", "defaultDisabled: [FailedBarePods]"),
    "ignore_pvc_pods": ("ignorePvcPods", "extraEnabled: [PodsWithPVC]"),
    "ignore_pods_without_pdb": ("ignorePodsWithoutPDB", "extraEnabled: [PodsWithoutPDB]"),
}

NoEvictionPolicy = Annotated[str, Meta(extra={"go": "defaultevictor.NoEvictionPolicy"})]
#: A name of one of the protections.
PodProtection = Annotated[str, Meta(extra={"go": "defaultevictor.PodProtection"})]


class ProtectedStorageClass(Struct, frozen=True, forbid_unknown_fields=True):
    """A storage class whose pods are protected."""

    name: str = ""


class PodsWithPVCConfig(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Narrows PodsWithPVC to these storage classes; empty protects every pod with a claim."""

    protected_storage_classes: tuple[ProtectedStorageClass, ...] = ()


class PodProtectionsConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of single protections; honoured whichever way the protection was switched on."""

    pods_with_pvc: PodsWithPVCConfig | None = field(default=None, name="PodsWithPVC")


class PodProtections(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Which protections hold: the four default ones without ``default_disabled``, and ``extra_enabled``."""

    extra_enabled: tuple[PodProtection, ...] = ()
    default_disabled: tuple[PodProtection, ...] = ()
    config: PodProtectionsConfig | None = None


class DefaultEvictorArgs(PluginArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """``pluginConfig[].args`` of DefaultEvictor."""

    #: Label selector syntax; restricts only the target nodes that nodeFit looks at.
    node_selector: str = ""
    label_selector: LabelSelector | None = None
    namespace_label_selector: LabelSelector | None = None
    #: As written; ``policies.arguments.resolve_priority_threshold`` makes it a number.
    priority_threshold: PriorityThreshold | None = None
    node_fit: bool = False
    min_replicas: Uint = 0
    #: Nanoseconds.
    min_pod_age: Duration | None = None
    no_eviction_policy: NoEvictionPolicy = ""
    pod_protections: PodProtections = PodProtections()
    # Deprecated: the first four disable a default protection, the last two enable an extra one.
    evict_local_storage_pods: bool = False
    evict_daemon_set_pods: bool = False
    evict_system_critical_pods: bool = False
    evict_failed_bare_pods: bool = False
    ignore_pvc_pods: bool = False
    ignore_pods_without_pdb: bool = field(default=False, name="ignorePodsWithoutPDB")


def _validate(args: DefaultEvictorArgs) -> list[str]:
    """Upstream's validation texts, in upstream's order."""
    problems = []
    threshold = args.priority_threshold
    if threshold and threshold.value is not None and threshold.name:
        problems.append("priority threshold misconfigured, only one of priorityThreshold fields can be set")
    if args.no_eviction_policy not in {"", "Preferred", "Mandatory"}:
        problems.append('noEvictionPolicy accepts only ["Preferred" "Mandatory"] values')
    protections = args.pod_protections
    uses_deprecated = any(getattr(args, name) for name in DEPRECATED)
    if uses_deprecated and (protections.extra_enabled or protections.default_disabled):
        problems.append(
            "cannot use Deprecated fields alongside PodProtections.ExtraEnabled or PodProtections.DefaultDisabled"
        )
    return problems + _check_protections(protections)


def _check_protections(protections: PodProtections) -> list[str]:
    problems = _unknown("ExtraEnabled", protections.extra_enabled, EXTRA_PROTECTIONS)
    problems += _unknown("DefaultDisabled", protections.default_disabled, DEFAULT_PROTECTIONS)
    for name, chosen in (
        ("DefaultDisabled", protections.default_disabled),
        ("ExtraEnabled", protections.extra_enabled),
    ):
        if len(set(chosen)) < len(chosen):
            problems.append(f"PodProtections.{name} contains duplicate entries")
    return problems + _check_storage_classes(protections)


def _unknown(name: str, chosen: Iterable[str], valid: tuple[str, ...]) -> list[str]:
    options = " ".join(valid)
    return [
        f'invalid pod protection policy in {name}: "{policy}". Valid options are: [{options}]'
        for policy in chosen
        if policy not in valid
    ]


def _check_storage_classes(protections: PodProtections) -> list[str]:
    config = protections.config
    if "PodsWithPVC" not in protections.extra_enabled or not config or not config.pods_with_pvc:
        return []
    return [
        f"PodProtections.Config.PodsWithPVC.ProtectedStorageClasses[{index}] name cannot be empty"
        for index, storage_class in enumerate(config.pods_with_pvc.protected_storage_classes)
        if not storage_class.name
    ]


def construct_default_evictor(args: DefaultEvictorArgs) -> list[str]:
    """Upstream's errors when it compiles the two selectors: only an enabled evictor gets that far."""
    problems = []
    for selector, prefix in (
        (args.label_selector, ""),
        (args.namespace_label_selector, "unable to convert namespaceLabelSelector to label selector: "),
    ):
        try:
            selector_from(selector)
        except ValueError as error:
            problems.append(f"{prefix}{error}")
    return problems


def _lint(args: DefaultEvictorArgs) -> Iterator[Issue]:
    """Yield the deprecated switches that are on, and the settings that have no effect."""
    for name, (key, replacement) in DEPRECATED.items():
        if getattr(args, name):
            yield Issue((key,), f"{key} is deprecated; write podProtections: {replacement}", "note")
    protections = args.pod_protections
    if args.priority_threshold and (
        args.evict_system_critical_pods or "SystemCriticalPods" in protections.default_disabled
    ):
        text = "priorityThreshold is ignored: it is part of the protection SystemCriticalPods, which is disabled"
        yield Issue(("priorityThreshold",), text, "warning")
    if protections.config and not (args.ignore_pvc_pods or "PodsWithPVC" in protections.extra_enabled):
        text = "config has no effect: PodsWithPVC is not in extraEnabled"
        yield Issue(("podProtections", "config"), text, "warning")
    if args.min_replicas == 1:
        yield Issue(("minReplicas",), "minReplicas: 1 checks nothing; it works from 2 on", "warning")
    if args.min_pod_age is not None and args.min_pod_age <= 0:
        yield Issue(("minPodAge",), "minPodAge protects nothing unless it is more than 0", "note")
    yield from _lint_node_selector(args)


def _lint_node_selector(args: DefaultEvictorArgs) -> Iterator[Issue]:
    if args.node_selector and not args.node_fit:
        text = "nodeSelector only restricts where nodeFit looks, and nodeFit is off"
        yield Issue(("nodeSelector",), f"{text}; the policy's own nodeSelector chooses the nodes to work on", "warning")
    try:
        parse_selector(args.node_selector)
    except ValueError as error:
        yield Issue(("nodeSelector",), f"with nodeFit no pod is ever evicted: {error}", "warning")


SCHEMA = PluginSchema(
    name=DEFAULT_EVICTOR,
    extension_points=("filter", "preEvictionFilter"),
    args=DefaultEvictorArgs,
    validate=_validate,
    construct=construct_default_evictor,
    lint=_lint,
    renamed={
        "evictableNamespaces": "it is an argument of LowNodeUtilization and HighNodeUtilization; "
        "here write namespaceLabelSelector",
        "namespaces": "it is an argument of strategies; here write namespaceLabelSelector",
        "thresholdPriority": "write priorityThreshold: {value: ...}",
        "thresholdPriorityClassName": "write priorityThreshold: {name: ...}",
    },
    go_package="defaultevictor.",
)
