"""Policies with one to three faults. Most should not load; some faults are harmless where they happen to be."""

from __future__ import annotations

from typing import Any

from builders.metadata import Object
from oracle.chance import Chance
from oracle.random_policies import STRATEGIES, a_mixed_policy

#: A value of every JSON type, at and beyond the edges of Go's numbers.
VALUES = (
    None,
    True,
    "",
    "x",
    "1",
    0,
    1,
    -1,
    1.5,
    2**31,
    2**40,
    2**63,
    1e20,
    [],
    ["x"],
    [1],
    {},
    {"x": 1},
    [{}],
    [None],
)
SELECTORS = ("a b", "pool in a", "pool in (a", "=x", "pool>x", "!", ",", "-a", "a=-")
KEYS = ("bogus", "namespaces", "args", "enabled", "preEvictionFilter", "nodefit", "name")
#: Arguments that are wrong together or in themselves, wherever the plugin knows them.
ARGUMENTS = (
    ("", {"namespaces": {"include": ["a"], "exclude": ["b"]}}),
    ("", {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "In"}]}}),
    ("", {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["a"]}]}}),
    ("", {"labelSelector": {"matchLabels": {"app": "-"}}}),
    ("", {"evictableNamespaces": {"include": ["a"]}}),
    ("", {"thresholds": {"cpu": 101}}),
    ("", {"thresholds": {"cpu": -0.5, "memory": 10}}),
    ("", {"thresholds": {}}),
    ("", {"states": ["Bogus"]}),
    ("LowNodeUtilization", {"thresholds": {"cpu": 50}, "targetThresholds": {"cpu": 20}}),
    ("LowNodeUtilization", {"targetThresholds": {"cpu": 20, "other": 5}}),
    ("LowNodeUtilization", {"metricsUtilization": {"source": "KubernetesMetrics", "metricsServer": True}}),
    ("LowNodeUtilization", {"metricsUtilization": {"source": "KubernetesMetrics", "prometheus": {}}}),
    ("LowNodeUtilization", {"metricsUtilization": {"source": "Prometheus"}}),
    ("LowNodeUtilization", {"metricsUtilization": {"source": "Prometheus", "prometheus": {"query": "q"}}}),
    ("HighNodeUtilization", {"evictionModes": ["Bogus"]}),
    ("PodLifeTime", {"ownerKinds": {"include": ["a"], "exclude": ["b"]}}),
    ("PodLifeTime", {"conditions": [{}, {"type": "Ready"}, {}]}),
    ("RemovePodsHavingTooManyRestarts", {"podRestartThreshold": 0}),
    ("RemovePodsViolatingNodeAffinity", {"nodeAffinityType": []}),
    ("RemovePodsViolatingNodeTaints", {"includedTaints": ["a"], "excludedTaints": ["b"]}),
    ("RemovePodsViolatingTopologySpreadConstraint", {"constraints": ["DoNotSchedule", "Bogus"]}),
    ("DefaultEvictor", {"priorityThreshold": {"value": 1, "name": "low"}}),
    ("DefaultEvictor", {"priorityThreshold": {"name": "too-high"}}),
    ("DefaultEvictor", {"priorityThreshold": {"name": "missing"}}),
    ("DefaultEvictor", {"priorityThreshold": {"value": 2_000_000_001}}),
    ("DefaultEvictor", {"noEvictionPolicy": "Bogus"}),
    ("DefaultEvictor", {"minPodAge": "5 minutes"}),
    ("DefaultEvictor", {"minPodAge": 5}),
    ("DefaultEvictor", {"minPodAge": "-1h"}),
    ("DefaultEvictor", {"podProtections": {"extraEnabled": ["PodsWithPVC", "PodsWithPVC", "Bogus"]}}),
    ("DefaultEvictor", {"podProtections": {"defaultDisabled": ["Bogus", "DaemonSetPods", "DaemonSetPods"]}}),
    ("DefaultEvictor", {"podProtections": {"extraEnabled": ["PodsWithPVC"]}, "ignorePvcPods": True}),
    ("DefaultEvictor", {"namespaceLabelSelector": {"matchLabels": {"a b": "c"}}}),
    ("DefaultEvictor", {"nodeSelector": "pool in a", "nodeFit": True}),
)
PROVIDERS: tuple[Any, ...] = (
    [{"source": "KubernetesMetrics"}, {"source": "KubernetesMetrics"}],
    [{"source": "Prometheus"}],
    [{"source": "Prometheus", "prometheus": {}}],
    [{"source": "Prometheus", "prometheus": {"url": "http://example.com:-80"}}],
    [{"source": "Prometheus", "prometheus": {"url": "http://example.com", "authToken": {}}}],
    [{"source": "Prometheus", "prometheus": {"url": "x", "authToken": {"secretReference": {"name": "n"}}}}],
    [{"source": "Odd"}, {}],
)


def a_faulty_policy(chance: Chance) -> Object:
    """A policy that is mostly refused."""
    policy = a_mixed_policy(chance)
    for _ in range(chance.weighted({1: 7, 2: 2, 3: 1})):
        fault = chance.choice([_other_value, _other_key, _wrong_arguments, _wrong_plugin, _wrong_setting])
        fault(chance, policy)
    return policy


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    pairs = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    return [(value, key) for key, _ in pairs] + [place for _, inner in pairs for place in _places(inner)]


def _other_value(chance: Chance, policy: Object) -> None:
    container, key = chance.choice(_places(policy))
    container[key] = chance.choice(VALUES)


def _other_key(chance: Chance, policy: Object) -> None:
    container, key = chance.choice([place for place in _places(policy) if isinstance(place[0], dict)])
    if chance.maybe(0.5):
        container[chance.choice(KEYS)] = chance.choice(VALUES)
    else:
        del container[key]


def _wrong_arguments(chance: Chance, policy: Object) -> None:
    subject, args = chance.choice(ARGUMENTS)
    configs = [config for profile in _listed(policy, "profiles") for config in _listed(profile, "pluginConfig")]
    known = [config for config in configs if isinstance(config, dict) and subject in ("", config.get("name"))]
    chosen = chance.choice(known) if known else None
    if chosen is not None and isinstance(chosen.get("args", {}), dict):
        chosen["args"] = chosen.get("args", {}) | args


def _wrong_plugin(chance: Chance, policy: Object) -> None:
    profiles = [profile for profile in _listed(policy, "profiles") if isinstance(profile, dict)]
    if not profiles:
        return
    profile, name = chance.choice(profiles), chance.choice([*STRATEGIES, "DefaultEvictor", "Bogus"])
    if chance.maybe(0.4):
        _listed(profile, "pluginConfig").append({"name": name})
    else:
        point = chance.choice(["deschedule", "balance", "filter", "preevictionfilter", "sort", "presort"])
        key = chance.weighted({"enabled": 5, "disabled": 1})
        if isinstance(profile.get("plugins"), dict):
            profile["plugins"][point] = {key: [name]}


def _wrong_setting(chance: Chance, policy: Object) -> None:
    fault = chance.randint(0, 5)
    if fault == 0:
        policy["nodeSelector"] = chance.choice(SELECTORS)
    elif fault == 1:
        policy["metricsProviders"] = chance.choice(PROVIDERS)
        policy["metricsCollector"] = {"enabled": True}
    elif fault == 2:
        policy["metricsProviders"] = chance.choice(PROVIDERS)
    elif fault == 3:
        policy["apiVersion"] = chance.choice(["descheduler/v1", "v1alpha2", "", "descheduler/v1alpha3", "a/b/c"])
    elif fault == 4:
        policy["kind"] = chance.choice(["Policy", "", "deschedulerpolicy"])
    else:
        policy[chance.choice(["gracePeriodSeconds", "evictionFailureEventNotification", "tracing"])] = chance.choice(
            VALUES
        )


def _listed(container: Any, key: str) -> list[Any]:
    found = container.get(key) if isinstance(container, dict) else None
    return found if isinstance(found, list) else []
