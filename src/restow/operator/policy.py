"""From a KubeDescheduler and the facts of its cluster to a DeschedulerPolicy: a pure function.

If no policy follows, the result has all problems instead, in the order in which upstream checks for them. A policy that
restow itself would refuse is never the result. Settings with less effect than one would think become notices, which the
status and the commands list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from restow.descheduling.registry import plugins
from restow.documents.findings import Issue, path_text
from restow.documents.yaml_text import write_yaml
from restow.errors import InputError
from restow.operator.facts import KUBEVIRT_LABEL, Facts, Installation, query_of, server_url
from restow.operator.profiles import PROFILES, ProfileSettings
from restow.operator.resource import KubeDeschedulerSpec, ProfileCustomizations
from restow.operator.rules import KUBEVIRT_PROFILES, Notice, Problem, check_selection, check_spec, scope_of
from restow.policies.arguments import PriorityThreshold, resolve_priority_threshold
from restow.policies.load import read_policy, read_policy_document
from restow.policies.v1alpha2 import API_VERSION, KIND
from restow.usage.sources import PROMETHEUS

_LOW: Final = frozenset({"LifecycleAndUtilization", "LongLifecycle", "DevPreviewLongLifecycle"})
_EXCLUDING: Final = _LOW | KUBEVIRT_PROFILES | {"CompactAndScale"}
#: The key of the ConfigMap, and the name of the file where it is mounted.
POLICY_FILE: Final = "policy.yaml"
#: Evictions per cycle, in all and from one node, where virtual machines are moved and the resource has no limits.
_KUBEVIRT_LIMITS: Final = (5, 2)
_BALANCING: Final = ("LifecycleAndUtilization", "LongLifecycle", "DevPreviewLongLifecycle")
_HOT_LOOP: Final = "may cause an eviction/scheduling hot loop"


def notices_of(spec: KubeDeschedulerSpec) -> Iterator[Notice]:
    """Yield the notices about a valid spec."""
    if not PROFILES.keys() & set(spec.profiles):
        yield Notice("NothingToDo", f"{_listed(spec.profiles)} only changes other profiles, so nothing is moved")
    if KUBEVIRT_PROFILES.intersection(spec.profiles):
        yield from _about_kubevirt(spec)
    yield from _selected_namespaces(spec)
    yield from _without_effect(spec)


def _about_kubevirt(spec: KubeDeschedulerSpec) -> Iterator[Notice]:
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


def _selected_namespaces(spec: KubeDeschedulerSpec) -> Iterator[Notice]:
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


@dataclass(slots=True, frozen=True)
class PolicyResult:
    """The policy of a resource; the text is empty if and only if there are problems."""

    text: str = ""
    problems: tuple[Problem, ...] = ()
    notices: tuple[Notice, ...] = ()


def policy_of(spec: KubeDeschedulerSpec, facts: Facts, installation: Installation) -> PolicyResult:
    """Return the policy of a spec as the text of a file, or what is wrong."""
    problems = (*check_spec(spec), *_check_facts(spec, facts, installation))
    if problems:
        return PolicyResult(problems=problems)
    text = write_yaml(_document(spec, facts, installation))
    refused, warnings = _judged(text)
    if refused:
        return PolicyResult(problems=refused)
    return PolicyResult(text, notices=(*notices_of(spec), *warnings))


def _document(spec: KubeDeschedulerSpec, facts: Facts, installation: Installation) -> dict[str, Any]:
    is_kubevirt = _is_kubevirt(spec)
    total, node = _limits(spec)
    settings = _settings(spec, _namespaces(facts, installation), node)
    head: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}
    limits = {"maxNoOfPodsToEvictPerNode": node, "maxNoOfPodsToEvictTotal": total}
    head |= {name: limit for name, limit in limits.items() if limit is not None}
    if needs_prometheus(spec):
        url = server_url(facts, installation)
        head |= {"metricsProviders": [{"source": PROMETHEUS, "prometheus": {"url": url}}]}
    if is_kubevirt:
        head |= {"nodeSelector": f"{KUBEVIRT_LABEL}=true"}
    return head | {"profiles": [PROFILES[name](settings) for name in spec.profiles if name in PROFILES]}


def _namespaces(facts: Facts, installation: Installation) -> tuple[str, ...]:
    """Return the namespaces of the cluster; that of the operator is always one of them."""
    return (*facts.namespaces, installation.namespace)


def _settings(spec: KubeDeschedulerSpec, namespaces: tuple[str, ...], node_limit: int | None) -> ProfileSettings:
    custom = spec.profile_customizations
    priority = _priority(custom)
    evictor = {} if "EvictPodsWithPVC" in spec.profiles else {"ignorePvcPods": True}
    if "EvictPodsWithLocalStorage" in spec.profiles:
        evictor |= {"evictLocalStoragePods": True}
    query = query_of(custom.dev_actual_utilization_profile)
    assert isinstance(query, str), "what is no query is a problem"
    return ProfileSettings(
        custom=custom,
        scope=scope_of(custom.namespaces, namespaces),
        evictor={**evictor, **priority},
        priority=priority,
        query=query,
        node_limit=node_limit,
    )


def _priority(custom: ProfileCustomizations) -> dict[str, Any]:
    if custom.threshold_priority is not None:
        return {"priorityThreshold": {"value": custom.threshold_priority}}
    if custom.threshold_priority_class_name:
        return {"priorityThreshold": {"name": custom.threshold_priority_class_name}}
    return {}


def _limits(spec: KubeDeschedulerSpec) -> tuple[int | None, int | None]:
    """Return how many pods may be evicted per cycle in all, and from one node; None is no limit."""
    total, node = _KUBEVIRT_LIMITS if _is_kubevirt(spec) else (None, None)
    asked = spec.eviction_limits
    return (total if asked.total is None else asked.total, node if asked.node is None else asked.node)


def _is_kubevirt(spec: KubeDeschedulerSpec) -> bool:
    return bool(KUBEVIRT_PROFILES.intersection(spec.profiles))


def needs_prometheus(spec: KubeDeschedulerSpec) -> bool:
    """Whether the policy of a spec names a Prometheus."""
    return _is_kubevirt(spec) or bool(spec.profile_customizations.dev_actual_utilization_profile)


def _check_facts(spec: KubeDeschedulerSpec, facts: Facts, installation: Installation) -> Iterator[Problem]:
    """Yield what stands against a spec in this cluster."""
    custom = spec.profile_customizations
    yield from check_selection(custom.namespaces, _namespaces(facts, installation))
    if needs_prometheus(spec):
        found = (server_url(facts, installation), query_of(custom.dev_actual_utilization_profile))
        yield from (each for each in found if isinstance(each, Problem))
    for name in spec.profiles:
        if name in KUBEVIRT_PROFILES:
            yield from _check_kubevirt(name, facts, installation)
    yield from _check_priority(custom, facts)
    yield from _check_scheduler(spec, facts)


def _check_kubevirt(name: str, facts: Facts, installation: Installation) -> Iterator[Problem]:
    only = f"profile {name} can only be used when"
    if facts.has_kubevirt_nodes is False:
        yield Problem("KubeVirtNotDeployed", f"{only} KubeVirt is properly deployed", stops=True)
    if installation.has_pressure_metrics is False:
        yield Problem("NoPressureMetrics", f"{only} PSI metrics are enabled for the worker nodes", stops=True)


def _check_priority(custom: ProfileCustomizations, facts: Facts) -> Iterator[Problem]:
    """Yield what the descheduler would find wrong with the threshold in each of its cycles."""
    name, value = custom.threshold_priority_class_name, custom.threshold_priority
    if name and facts.priority_classes is None:
        return
    try:
        resolve_priority_threshold(PriorityThreshold(value=value, name=name), facts.priority_classes)
    except InputError as error:
        yield Problem("UnusablePriorityThreshold", str(error))


def _check_scheduler(spec: KubeDeschedulerSpec, facts: Facts) -> Iterator[Problem]:
    """Yield where descheduler and scheduler would undo each other's work."""
    balances = any(name in spec.profiles for name in _BALANCING)
    if facts.scheduler_profile == "HighNodeUtilization" and balances:
        text = f"enabling Descheduler LowNodeUtilization with Scheduler HighNodeUtilization {_HOT_LOOP}"
        yield Problem("SchedulerConflict", text, stops=True)
    if facts.scheduler_profile == "LowNodeUtilization" and "CompactAndScale" in spec.profiles:
        text = f"enabling Descheduler CompactAndScale with Scheduler LowNodeUtilization {_HOT_LOOP}"
        yield Problem("SchedulerConflict", text, stops=True)


def _judged(text: str) -> tuple[tuple[Problem, ...], tuple[Notice, ...]]:
    """Return what restow's own reader refuses in a policy, and what it warns of."""
    reading = read_policy(read_policy_document(text.encode(), POLICY_FILE), plugins())
    refused = [
        Problem("UnusablePolicy", f"{path_text(each.path)}: {each.message}")
        for each in reading.issues
        if each.severity == "error"
    ]
    warnings = [_notice(each) for each in reading.issues if each.severity == "warning"]
    return tuple(refused), tuple(warnings)


def _notice(warning: Issue) -> Notice:
    """Return a warning about the policy as a notice."""
    return Notice("PolicyWarning", f"{path_text(warning.path)}: {warning.message}")
