"""Random KubeSchedulerConfigurations: plugins off, on and in another order, weights, arguments, several profiles.

Kept away is what the comparison cannot see: a profile without a score plugin stops at the first node that fits, and one
that filters without the preparation that a plugin needs fails on every pod. Nor is preemption told to try fewer nodes.
"""

from __future__ import annotations

import json
from typing import Any

from builders import HOSTNAME, ZONE, Object
from oracle.chance import Chance

NAMES = ("default-scheduler", "second", "third")
#: Names of schedulers that no configuration has.
STRANGERS = ("volcano", "default")
#: Plugins that can be left out without anything failing; ImageLocality stays, so that something scores.
OPTIONAL = (
    "SchedulingGates",
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "DefaultPreemption",
    "NodeResourcesBalancedAllocation",
    "NodeDeclaredFeatures",
)
NEEDED = ("PrioritySort", "DefaultBinder", "ImageLocality")
SCORING = (
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
)
#: Plugins that run at both preFilter and filter, and those of them that filter as well without their preFilter.
FILTERING = (
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
)
INDEPENDENT = ("NodeAffinity", "NodeVolumeLimits", "VolumeZone")
UNPREPARED = ("NodeAffinity", "NodeResourcesFit", "NodeResourcesBalancedAllocation")
POST_FILTERS = ("DynamicResources", "DefaultPreemption")
RESOURCES = ("cpu", "memory", "ephemeral-storage", "example.com/gpu", "hugepages-2Mi", "pods")
KEYS = (HOSTNAME, ZONE, "disk", "pool", "gen")


def a_configuration(chance: Chance) -> str:
    """The text of a configuration of one to three profiles."""
    names = (
        chance.some(NAMES, least=2, most=3) if chance.maybe(0.3) else [chance.choice([NAMES[0], NAMES[0], "second"])]
    )
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [_profile(chance, name) for name in names],
    }
    return json.dumps(document, indent=1)


def choose_schedulers(chance: Chance, cluster: list[Object]) -> None:
    """Have the waiting pods of a cluster ask for schedulers, those that there are and others."""
    for each in cluster:
        if each["kind"] == "Pod" and not each["spec"].get("nodeName") and chance.maybe(0.6):
            each["spec"]["schedulerName"] = chance.choice([*NAMES, *NAMES, *STRANGERS])


def _profile(chance: Chance, name: str) -> Object:
    plugins = {
        "multiPoint": _everywhere(chance) if chance.maybe(0.5) else {},
        "score": _score(chance) if chance.maybe(0.4) else {},
        "postFilter": _post_filter(chance) if chance.maybe(0.3) else {},
        "preScore": {"disabled": _names(chance.some(UNPREPARED))} if chance.maybe(0.2) else {},
        "preEnqueue": {"disabled": _names(["SchedulingGates"])} if chance.maybe(0.1) else {},
        **(_filters(chance) if chance.maybe(0.4) else {}),
    }
    _prepare(plugins, "preFilter", "filter", INDEPENDENT)
    # The oracle looks for preemption there.
    _prepare(plugins, "preEnqueue", "postFilter", ("DynamicResources",))
    _prepare(plugins, "preScore", "score", (*UNPREPARED, "ImageLocality"))
    return {"schedulerName": name, "plugins": plugins, "pluginConfig": _arguments(chance)}


def _prepare(plugins: Object, before: str, point: str, independent: tuple[str, ...]) -> None:
    """Enable what is enabled at a point at the point before too, in case nothing else does."""
    enabled = plugins.setdefault(before, {}).setdefault("enabled", [])
    names = {each["name"] for each in enabled}
    for each in plugins.get(point, {}).get("enabled", ()):
        if each["name"] not in (*names, *independent):
            enabled.append({"name": each["name"]})


def _everywhere(chance: Chance) -> Object:
    """Some plugins off, or all off and some on again in another order, or some with other weights."""
    match chance.randint(0, 2):
        case 0:
            return {"disabled": _names(chance.some(OPTIONAL, most=6))}
        case 1:
            enabled = [*chance.some(OPTIONAL, least=3, most=len(OPTIONAL)), *NEEDED]
            chance.shuffle(enabled)
            return {"disabled": [{"name": "*"}], "enabled": _weighted(chance, enabled)}
    again = chance.some(SCORING, most=3)
    disabled = chance.some(again, least=0)
    return {"disabled": _names(disabled), "enabled": _weighted(chance, again)}


def _score(chance: Chance) -> Object:
    enabled = _weighted(chance, chance.some(("ImageLocality", "NodeResourcesFit", *SCORING), least=1, most=1))
    if chance.maybe(0.5):
        enabled = _weighted(chance, chance.some(SCORING, least=1, most=5))
    disabled = ["*"] if chance.maybe(0.5) else chance.some(SCORING[:-1], least=0, most=3)
    return {"enabled": enabled, "disabled": _names(disabled)}


def _post_filter(chance: Chance) -> Object:
    match chance.randint(0, 2):
        case 0:
            return {"disabled": _names([chance.choice([*POST_FILTERS, "*"])])}
        case 1:
            return {"enabled": _names(chance.some(POST_FILTERS))}
    return {"disabled": [{"name": "*"}], "enabled": _names(chance.some(POST_FILTERS))}


def _filters(chance: Chance) -> Object:
    """Filters off with or without what prepares them, preparation without the filter, and other orders of both."""
    off = chance.some(FILTERING, least=0)
    unprepared = [name for name in (*FILTERING, "DynamicResources") if name in off or name in INDEPENDENT]
    before_off = chance.some(unprepared, least=0)
    reserving = {"disabled": _names(["VolumeBinding"] if "VolumeBinding" in before_off else [])}
    return {
        "reserve": reserving,
        "preBind": reserving,
        "filter": {
            "disabled": _names([*off, *chance.some(["NodeUnschedulable", "TaintToleration"], least=0, most=1)]),
            "enabled": _names([name for name in chance.some(FILTERING, least=0, most=3) if name not in off]),
        },
        "preFilter": {
            "disabled": _names(before_off),
            "enabled": _names(chance.some(("DynamicResources", *FILTERING), least=0, most=2))
            if chance.maybe(0.3)
            else [],
        },
    }


def _names(names: list[str]) -> list[Object]:
    return [{"name": name} for name in dict.fromkeys(names)]


def _weighted(chance: Chance, names: list[str]) -> list[Object]:
    weights = [{}, {}, {"weight": 0}, {"weight": chance.randint(1, 9)}, {"weight": 100}]
    return [{"name": name, **chance.choice(weights)} for name in dict.fromkeys(names)]


def _arguments(chance: Chance) -> list[Object]:
    makers = {
        "InterPodAffinity": _inter_pod_affinity,
        "NodeAffinity": _node_affinity,
        "NodeResourcesFit": _node_resources_fit,
        "NodeResourcesBalancedAllocation": _balanced_allocation,
        "PodTopologySpread": _pod_topology_spread,
    }
    return [{"name": name, "args": makers[name](chance)} for name in chance.some(list(makers), least=0, most=4)]


def _inter_pod_affinity(chance: Chance) -> Object:
    return {
        "hardPodAffinityWeight": chance.choice([0, 1, 7, 100]),
        "ignorePreferredTermsOfExistingPods": chance.maybe(0.5),
    }


def _node_affinity(chance: Chance) -> Object:
    added: Object = {}
    if chance.maybe(0.6):
        terms = [{"matchExpressions": [_expression(chance)]} for _ in range(chance.randint(1, 2))]
        added["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if chance.maybe(0.6):
        added["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": chance.randint(1, 100), "preference": {"matchExpressions": [_expression(chance)]}}
            for _ in range(chance.randint(1, 2))
        ]
    return {"addedAffinity": added} if chance.maybe(0.9) else {}


def _expression(chance: Chance) -> Object:
    key = chance.choice(KEYS)
    operator = chance.choice(["In", "NotIn", "Exists", "Exists", "DoesNotExist"])
    values = ["n1", "n2", "z1", "z2", "a", "ssd", "5"]
    return {"key": key, "operator": operator} | (
        {"values": chance.sample(values, 3)} if operator in {"In", "NotIn"} else {}
    )


def _node_resources_fit(chance: Chance) -> Object:
    args: Object = {}
    if chance.maybe(0.3):
        args["ignoredResources"] = chance.some(RESOURCES)
    if chance.maybe(0.3):
        args["ignoredResourceGroups"] = ["example.com"]
    if chance.maybe(0.8):
        args["scoringStrategy"] = _strategy(chance)
    return args


def _strategy(chance: Chance) -> Object:
    strategy: Object = {"type": chance.choice(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"])}
    if chance.maybe(0.8):
        strategy["resources"] = _resources(chance, heaviest=chance.choice([1, 5, 100]))
        if chance.maybe(0.1):
            strategy["resources"] += strategy["resources"][:1]
    if strategy["type"] == "RequestedToCapacityRatio":
        at = sorted(chance.sample(range(101), chance.randint(1, 4)))
        strategy["requestedToCapacityRatio"] = {
            "shape": [{"utilization": each, "score": chance.randint(0, 10)} for each in at]
        }
    return strategy


def _resources(chance: Chance, *, heaviest: int) -> list[Object]:
    names: list[Any] = chance.some(RESOURCES, least=1, most=4)
    return [{"name": name} | ({"weight": chance.randint(1, heaviest)} if chance.maybe(0.8) else {}) for name in names]


def _balanced_allocation(chance: Chance) -> Object:
    return {"resources": _resources(chance, heaviest=1)} if chance.maybe(0.9) else {}


def _pod_topology_spread(chance: Chance) -> Object:
    if chance.maybe(0.2):
        return {"defaultingType": chance.choice(["System", ""])}
    kinds = [(key, when) for key in (HOSTNAME, ZONE, "disk") for when in ("DoNotSchedule", "ScheduleAnyway")]
    constraints = [
        {"maxSkew": chance.randint(1, 3), "topologyKey": key, "whenUnsatisfiable": when, **_details(chance)}
        for key, when in chance.some(kinds, least=0, most=3)
    ]
    return {"defaultingType": "List", "defaultConstraints": constraints}


def _details(chance: Chance) -> Object:
    details: Object = {}
    if chance.maybe(0.3):
        details["nodeAffinityPolicy"] = chance.choice(["Honor", "Ignore"])
    if chance.maybe(0.3):
        details["nodeTaintsPolicy"] = chance.choice(["Honor", "Ignore"])
    if chance.maybe(0.2):
        details["minDomains"] = chance.randint(1, 3)
    return details
