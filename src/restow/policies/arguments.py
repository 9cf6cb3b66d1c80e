"""Argument shapes that several plugins share, and upstream's rules for them.

Struct names are the Go types' names, because upstream's decode errors quote them and people search for those texts.
``Meta(extra={"go": ...})`` names the Go type where Python has only ``int``, ``float`` and ``dict``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from restow.documents.findings import Issue
from restow.documents.shapes import Uint
from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.kube.labels import selector_from
from restow.kube.objects import Int32, LabelSelector

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

Percentage = Annotated[float, Meta(extra={"go": "api.Percentage"})]

#: Resource name to percentage.
Thresholds = Annotated[dict[str, Percentage], Meta(extra={"go": "api.ResourceThresholds"})]

MIN_PERCENTAGE = 0
MAX_PERCENTAGE = 100

#: Pods of this priority and above are the system's. Source: Kubernetes 1.36, scheduling API.
SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
#: Classes that every API server creates.
_BUILT_IN_CLASSES = {"system-cluster-critical": SYSTEM_CRITICAL_PRIORITY, "system-node-critical": 2_000_001_000}


class PluginArgs(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The base of all arguments: ``args`` may carry ``apiVersion`` and ``kind``, which mean nothing."""

    api_version: str = ""
    kind: str = ""


class Namespaces(Struct, frozen=True, forbid_unknown_fields=True):
    """Names of namespaces; empty lists restrict nothing."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class PodSelectionArgs(PluginArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The base of arguments of strategies that choose pods by namespace and labels; None restricts nothing."""

    namespaces: Namespaces | None = None
    label_selector: LabelSelector | None = None


class EvictionLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """``node``: evictions per source node and call of the plugin; None is unlimited, 0 none."""

    node: Uint | None = None


class PriorityThreshold(Struct, frozen=True, forbid_unknown_fields=True):
    """A priority as a number, or as the name of a PriorityClass that only the cluster can resolve."""

    value: Int32 | None = None
    name: str = ""


def check_namespaces(namespaces: Namespaces | None) -> list[str]:
    """Upstream's error if names are both included and excluded."""
    if namespaces and namespaces.include and namespaces.exclude:
        return ["only one of Include/Exclude namespaces can be set"]
    return []


def check_evictable_namespaces(namespaces: Namespaces | None) -> list[str]:
    """Upstream's error if the utilisation strategies include namespaces."""
    if namespaces and namespaces.include:
        return ["only Exclude namespaces can be set, inclusion is not supported"]
    return []


def check_label_selector(selector: LabelSelector | None) -> list[str]:
    """Upstream's error if a strategy's label selector cannot be compiled; absent is no restriction."""
    if selector is None:
        return []
    try:
        selector_from(selector)
    except ValueError as error:
        return [f"failed to get label selectors from strategy's params: {error}"]
    return []


def check_pod_selection(args: PodSelectionArgs) -> list[str]:
    """Check the two arguments by which most strategies choose pods, in upstream's order."""
    return check_namespaces(args.namespaces) + check_label_selector(args.label_selector)


def check_thresholds(thresholds: Mapping[str, float]) -> list[str]:
    """Return upstream's errors about thresholds, sorted by resource. Upstream reports only one of them, chosen at random."""
    if not thresholds:
        return ["no resource threshold is configured"]
    return [
        f"{resource} threshold not in [{MIN_PERCENTAGE}, {MAX_PERCENTAGE}] range"
        for resource, percentage in sorted(thresholds.items())
        if not MIN_PERCENTAGE <= percentage <= MAX_PERCENTAGE
    ]


def lint_needs(key: str, *criteria: tuple[str, Sequence[Any]]) -> Iterator[Issue]:
    """Yield a note if an argument has no effect because all of the arguments that it needs are absent."""
    if not any(values for _, values in criteria):
        names = " or ".join(name for name, _ in criteria)
        yield Issue((key,), f"{key} has no effect without {names}", "note")


def check_choices(field: str, chosen: Iterable[str], allowed: frozenset[str]) -> list[str]:
    """Upstream's error, one for the whole list, if anything outside ``allowed`` was chosen."""
    if set(chosen) <= allowed:
        return []
    return [f"{field} must be one of [{' '.join(sorted(allowed))}]"]


def resolve_priority_threshold(threshold: PriorityThreshold | None, priority_classes: Mapping[str, int] | None) -> int:
    """Return the priority from which on pods are not evictable.

    ``priority_classes`` are the cluster's, by name; None if they are unknown. Raises InputError, with upstream's
    texts, if the named class is missing or the result is above the system's priorities.
    """
    value = SYSTEM_CRITICAL_PRIORITY
    if threshold is not None and threshold.value is not None:
        value = threshold.value
    elif threshold is not None and threshold.name:
        value = _class_value(threshold.name, priority_classes)
    if value > SYSTEM_CRITICAL_PRIORITY:
        raise InputError(
            f"priority threshold can't be greater than {SYSTEM_CRITICAL_PRIORITY}, and this one is {value}"
        )
    return value


def _class_value(name: str, priority_classes: Mapping[str, int] | None) -> int:
    classes = _BUILT_IN_CLASSES | dict(priority_classes or {})
    if name not in classes:
        raise InputError(
            "unable to get priority value from the priority class: "
            f'priorityclasses.scheduling.k8s.io "{excerpt(name)}" not found; if the cluster has it, '
            "add it to the input: kubectl get priorityclasses -o json"
        )
    return classes[name]
