"""Random policies: one strategy or several, the evictor with every argument, limits, and the nodes to look at.

Half of them are written as JSON, half as YAML. All of them load; ``random_faults`` makes others of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import yaml

from builders.metadata import Object
from oracle.chance import Chance
from oracle.random_arguments import ARGUMENTS, arguments, given, switch
from oracle.random_clusters import PRIORITY_CLASSES
from oracle.random_rules import label_selector

STRATEGIES = tuple(ARGUMENTS)
BALANCE = {
    "HighNodeUtilization",
    "LowNodeUtilization",
    "RemoveDuplicates",
    "RemovePodsViolatingTopologySpreadConstraint",
}
NODE_SELECTORS = ("pool=a", "pool in (a, b),disk", "disk!=hdd", "!pool", "gen>3", "")
#: Pods that deprecated switches let be evicted.
EVICTABLE = ("LocalStoragePods", "DaemonSetPods", "SystemCriticalPods", "FailedBarePods")
LIMITS = ("maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace", "maxNoOfPodsToEvictTotal")


def a_random_policy(chance: Chance, *strategies: str) -> Object:
    """A policy of one profile that runs these strategies in this order."""
    return _header() | _settings(chance) | {"profiles": [_profile(chance, "P", list(strategies))]}


def a_mixed_policy(chance: Chance) -> Object:
    """A policy of one to three profiles, each with a few strategies, some listed twice."""
    profiles = []
    for index in range(chance.weighted({1: 5, 2: 3, 3: 1})):
        strategies = chance.some(STRATEGIES, least=0 if index else 2, most=5)
        profiles.append(_profile(chance, f"P{index}", strategies))
    return _header() | _settings(chance) | {"profiles": profiles}


def several_profiles(chance: Chance, count: int, options: Sequence[str], evictor: Callable[[Chance], Object]) -> Object:
    """A policy of so many profiles, each with a few of the strategies and with an evictor of its own."""
    profiles = []
    for index in range(count):
        profile = _profile(chance, f"P{index}", chance.some(options, least=2, most=5))
        configs = [each for each in profile["pluginConfig"] if each["name"] != "DefaultEvictor"]
        profile["pluginConfig"] = [{"name": "DefaultEvictor", "args": evictor(chance)}, *configs]
        profiles.append(profile)
    return _header() | _settings(chance) | {"profiles": profiles}


def as_text(chance: Chance, policy: Object) -> str:
    """The policy as a file: JSON, or YAML with and without brackets."""
    if chance.maybe(0.5):
        return json.dumps(policy)
    text = yaml.safe_dump(policy, sort_keys=chance.maybe(0.5), default_flow_style=chance.choice([False, None]))
    return json.dumps(policy) if text.startswith("{") else text


def _header() -> Object:
    return {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}


def _settings(chance: Chance) -> Object:
    settings = {limit: chance.weighted({0: 0.3, 1: 1, 2: 2, 3: 2, 5: 2, 8: 1}) for limit in LIMITS if chance.maybe(0.2)}
    if chance.maybe(0.12):
        settings["nodeSelector"] = chance.choice(NODE_SELECTORS)
    if "metrics" in chance.traits:
        how = chance.weighted({"provider": 6, "collector": 2, "none": 1})
        if how == "provider":
            settings["metricsProviders"] = [{"source": "KubernetesMetrics"}]
        if how == "collector":
            settings["metricsCollector"] = {"enabled": True}
    return settings


def _profile(chance: Chance, name: str, strategies: list[str]) -> Object:
    configs = [{"name": strategy, "args": arguments(chance, strategy)} for strategy in strategies]
    if chance.maybe(0.6):
        configs.insert(chance.randint(0, len(configs)), {"name": "DefaultEvictor", "args": evictor_arguments(chance)})
    points = {
        "deschedule": [each for each in strategies if each not in BALANCE],
        "balance": [each for each in strategies if each in BALANCE],
    }
    for enabled in points.values():
        if enabled and chance.maybe(0.05):
            enabled.append(chance.choice(enabled))
    plugins = {point: {"enabled": enabled} for point, enabled in points.items() if enabled or chance.maybe(0.3)}
    if chance.maybe(0.1):
        plugins[chance.choice(["filter", "preevictionfilter"])] = {"enabled": ["DefaultEvictor"]}
    return {"name": name, "pluginConfig": configs, "plugins": plugins}


def evictor_arguments(chance: Chance) -> Object:
    """Arguments of DefaultEvictor; mostly few at a time, because each holds pods back."""

    def rare(value: object, share: float = 0.08) -> object:
        return value if chance.maybe(share) else None

    return given(
        nodeFit=switch(chance, 0.4),
        nodeSelector=rare(chance.choice(NODE_SELECTORS), 0.1),
        labelSelector=rare(label_selector(chance)),
        namespaceLabelSelector=rare({"matchLabels": {"team": "red"}} if chance.maybe(0.8) else label_selector(chance)),
        priorityThreshold=_priority_threshold(chance),
        minReplicas=rare(chance.randint(0, 6), 0.25),
        minPodAge=rare(chance.choice(["0s", "1h", "1h0.5m", "20h30m", "601s", "600s"])),
        noEvictionPolicy=rare(chance.choice(["", "Preferred", "Mandatory"]), 0.3),
        **_protections(chance),
    )


def every_evictor_argument(chance: Chance) -> Object:
    """Arguments of DefaultEvictor: a few of all that there are, each as often as the others, and mostly lenient."""
    options: Mapping[str, Callable[[], object]] = {
        "nodeFit": lambda: chance.choice([True, False]),
        "nodeSelector": lambda: chance.choice(NODE_SELECTORS),
        "labelSelector": lambda: label_selector(chance),
        "namespaceLabelSelector": lambda: {"matchLabels": {"team": chance.choice(["red", "blue"])}},
        "priorityThreshold": lambda: chance.choice([{"name": "high"}, {"value": 500}, {"value": 2_000_000_000}]),
        "minReplicas": lambda: chance.randint(0, 3),
        "minPodAge": lambda: chance.choice(["0s", "1h", "601s"]),
        "noEvictionPolicy": lambda: chance.choice(["Preferred", "Mandatory"]),
    }
    chosen = {name: options[name]() for name in chance.some(list(options), least=0, most=3)}
    return chosen | (_switches(chance) if chance.maybe(0.5) else _listed_protections(chance))


def _switches(chance: Chance) -> Object:
    """The deprecated switches of the protections."""
    lenient = {f"evict{name}": True for name in EVICTABLE if chance.maybe(0.6)}
    return lenient | {name: True for name in ("ignorePvcPods", "ignorePodsWithoutPDB") if chance.maybe(0.3)}


def _listed_protections(chance: Chance) -> Object:
    disabled = ["PodsWithLocalStorage", "SystemCriticalPods", "FailedBarePods", "DaemonSetPods"]
    extra = ["PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims"]
    protections = given(
        defaultDisabled=chance.some(disabled, most=4) if chance.maybe(0.8) else None,
        extraEnabled=chance.some(extra, most=3) if chance.maybe(0.5) else None,
        config=_claims_config(chance) if chance.maybe(0.5) else None,
    )
    return {"podProtections": protections} if protections else {}


def _priority_threshold(chance: Chance) -> Object | None:
    if not chance.maybe(0.1):
        return None
    named = {"name": chance.choice([name for name in PRIORITY_CLASSES if name != "too-high"])}
    return chance.choice([named, {"value": chance.choice([-100, 0, 500, 2_000_000_000])}, {}])


def _protections(chance: Chance) -> Object:
    if chance.maybe(0.4):
        old = {f"evict{name}": True for name in EVICTABLE if chance.maybe(0.5)}
        return old | {name: True for name in ("ignorePvcPods", "ignorePodsWithoutPDB") if chance.maybe(0.15)}
    disabled = ["PodsWithLocalStorage", "SystemCriticalPods", "FailedBarePods", "DaemonSetPods"]
    protections = given(
        defaultDisabled=chance.some(disabled, most=4) if chance.maybe(0.6) else None,
        extraEnabled=_extra(chance) if chance.maybe(0.4) else None,
        config=_claims_config(chance) if chance.maybe(0.3) else None,
    )
    return {"podProtections": protections} if protections else {}


def _extra(chance: Chance) -> list[str]:
    weights = {"PodsWithPVC": 3, "PodsWithoutPDB": 0.5, "PodsWithResourceClaims": 2}
    return list(dict.fromkeys(chance.weighted(weights) for _ in range(chance.randint(1, 2))))


def _claims_config(chance: Chance) -> Object:
    classes = [{"name": name} for name in chance.some(["gold", "silver", "other"], least=0)]
    return {"PodsWithPVC": {"protectedStorageClasses": classes}}
