"""Settings of a resource with less effect than one would think; the status and the commands list them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from restow.operator.problems import Notice
from restow.operator.profiles import PROFILES
from restow.operator.resource import KubeDeschedulerSpec, ProfileCustomizations
from restow.operator.rules import KUBEVIRT_PROFILES

_LOW: Final = frozenset({"LifecycleAndUtilization", "LongLifecycle", "DevPreviewLongLifecycle"})
_EXCLUDING: Final = _LOW | KUBEVIRT_PROFILES | {"CompactAndScale"}


def notices_of(spec: KubeDeschedulerSpec) -> Iterator[Notice]:
    """Yield the notices about a valid spec."""
    if not PROFILES.keys() & set(spec.profiles):
        yield Notice("NothingToDo", f"{_listed(spec.profiles)} only changes other profiles, so nothing is moved")
    if KUBEVIRT_PROFILES.intersection(spec.profiles):
        yield from _kubevirt(spec)
    yield from _namespaces(spec)
    yield from _without_effect(spec)


def _kubevirt(spec: KubeDeschedulerSpec) -> Iterator[Notice]:
    yield Notice(
        "NoMigrationCooldown",
        "restow has no plugin KubevirtMigrationAware yet, so neither running migrations nor the cooldown after one keep "
        "a virtual machine where it is",
    )
    others = [each for each in spec.profiles if each in PROFILES and each not in KUBEVIRT_PROFILES]
    if others:
        yield Notice(
            "OnlyKubeVirtNodes",
            f"{_listed(others)}: beside a KubeVirt profile only pods of nodes labelled kubevirt.io/schedulable=true are "
            "looked at",
        )


def _namespaces(spec: KubeDeschedulerSpec) -> Iterator[Notice]:
    profiles = [each for each in spec.profiles if each in _EXCLUDING]
    if spec.profile_customizations.namespaces.included and profiles:
        yield Notice(
            "IncludedNamespacesNotApplied",
            f"{_listed(profiles)}: strategies that balance utilization cannot be told which namespaces to include; they "
            "move pods of every namespace that is not protected",
        )


def _without_effect(spec: KubeDeschedulerSpec) -> Iterator[Notice]:
    unread = [name for name, is_set in _unread(spec.profiles, spec.profile_customizations) if is_set]
    if unread:
        yield Notice("CustomizationWithoutEffect", f"{_listed(unread)}: without effect on the profiles that are listed")


def _unread(profiles: tuple[str, ...], custom: ProfileCustomizations) -> Iterator[tuple[str, bool]]:
    """Yield customizations, and whether each is set although no listed profile reads it."""
    listed = set(profiles)
    lives, packs, kubevirt = (
        "LifecycleAndUtilization" in listed,
        "CompactAndScale" in listed,
        bool(listed & KUBEVIRT_PROFILES),
    )
    balances = kubevirt or bool(listed & _LOW)
    yield "podLifetime", custom.pod_lifetime is not None and not lives
    yield "devLowNodeUtilizationThresholds", bool(custom.dev_low_node_utilization_thresholds) and not balances
    yield "devHighNodeUtilizationThresholds", bool(custom.dev_high_node_utilization_thresholds) and not packs
    yield "devDeviationThresholds", bool(custom.dev_deviation_thresholds) and not kubevirt
    yield "devActualUtilizationProfile", bool(custom.dev_actual_utilization_profile) and not balances
    yield "devEnableSoftTainter", custom.dev_enable_soft_tainter
    yield "devMigrationCooldown", custom.dev_migration_cooldown is not None
    yield "devMaxMigrationCooldown", custom.dev_max_migration_cooldown is not None
    yield "devMigrationHistoryWindow", custom.dev_migration_history_window is not None


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words)
