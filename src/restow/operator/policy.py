"""From a KubeDescheduler and the facts of its cluster to a DeschedulerPolicy: a pure function.

If no policy follows, the result has all problems instead, in the order in which upstream checks for them. A policy that
restow itself would refuse is never the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from restow.descheduling.registry import plugins
from restow.documents.findings import Issue, path_text
from restow.documents.writing import write_yaml
from restow.errors import InputError
from restow.operator.facts import KUBEVIRT_LABEL, Facts, Installation, query_of, server_url
from restow.operator.notices import notices_of
from restow.operator.problems import Notice, Problem
from restow.operator.profiles import PROFILES, ProfileSettings
from restow.operator.resource import KubeDeschedulerSpec, ProfileCustomizations
from restow.operator.rules import KUBEVIRT_PROFILES, check_selection, check_spec, scope_of
from restow.policies.arguments import PriorityThreshold, resolve_priority_threshold
from restow.policies.enclosed import read_policy_document
from restow.policies.load import read_policy
from restow.policies.policy import PROMETHEUS
from restow.policies.v1alpha2 import API_VERSION, KIND

#: The key of the ConfigMap, and the name of the file where it is mounted.
POLICY_FILE: Final = "policy.yaml"
#: Evictions per cycle, in all and from one node, where virtual machines are moved and the resource has no limits.
_KUBEVIRT_LIMITS: Final = (5, 2)
_BALANCING: Final = ("LifecycleAndUtilization", "LongLifecycle", "DevPreviewLongLifecycle")
_HOT_LOOP: Final = "may cause an eviction/scheduling hot loop"


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
