"""PodTopologySpread in plain loops, straight from the rules: slow, and obviously right."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

from scheduling.plugins.world import admits, is_empty, labels_of, namespace_of, selects, tolerated

if TYPE_CHECKING:
    from builders import Object
    from scheduling.plugins.world import World

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
SYSTEM = [
    {"maxSkew": 3, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway"},
    {"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"},
]


def constraints_of(world: World, pod: int, action: str, defaults: list[Object]) -> list[Object]:
    """The constraints of a pod with this action, each with its final selector."""
    spec = world.pods[pod]["spec"].get("topologySpreadConstraints") or []
    if spec:
        own = [each for each in spec if each["whenUnsatisfiable"] == action]
        return [{**each, "labelSelector": _merged(each, labels_of(world.pods[pod]))} for each in own]
    chosen = [each for each in defaults if each["whenUnsatisfiable"] == action]
    selector = default_selector(world, pod)
    return [] if is_empty(selector) else [{**each, "labelSelector": selector} for each in chosen]


def _merged(constraint: Object, labels: dict[str, str]) -> Object | None:
    selector = constraint.get("labelSelector")
    keys = [key for key in constraint.get("matchLabelKeys") or [] if key in labels]
    if selector is None or not keys:
        return selector
    own = [{"key": key, "operator": "In", "values": [labels[key]]} for key in keys]
    return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or []), *own]}


def default_selector(world: World, pod: int) -> Object:
    """Everything that matching Services and the controller ask for."""
    thing = world.pods[pod]
    equal: dict[str, str] = {}
    for service in world.kind("Service"):
        selector = service["spec"].get("selector")
        same = namespace_of(service) == namespace_of(thing)
        if same and selector is not None and selects({"matchLabels": selector}, labels_of(thing)):
            equal |= selector
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in equal.items()]
    for owner in thing["metadata"].get("ownerReferences") or []:
        for workload in world.kind(owner["kind"]):
            same = (namespace_of(workload), workload["metadata"]["name"]) == (namespace_of(thing), owner["name"])
            if same and owner["kind"] in {"ReplicaSet", "StatefulSet"}:
                selector = workload["spec"].get("selector") or {}
                labels = (selector.get("matchLabels") or {}).items()
                expressions += [{"key": key, "operator": "In", "values": [value]} for key, value in labels]
                expressions += selector.get("matchExpressions") or []
    return {"matchExpressions": expressions}


def _count(world: World, node: Object, pod: int, selector: Object | None) -> int:
    if is_empty(selector):
        return 0
    return sum(
        selects(selector, labels_of(world.pods[other]))
        for other in world.pods_on(node)
        if other not in world.terminating and namespace_of(world.pods[other]) == namespace_of(world.pods[pod])
    )


def _included(node: Object, pod: Object, constraint: Object) -> bool:
    if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not admits(node, pod):
        return False
    return constraint.get("nodeTaintsPolicy", "Ignore") == "Ignore" or tolerated(node, pod)


def spread_codes(world: World, pod: int, defaults: list[Object]) -> dict[str, str]:
    """OK, U or UAU by name of the node."""
    hard = constraints_of(world, pod, "DoNotSchedule", defaults)
    counts: list[dict[str, int]] = [{} for _ in hard]
    for node in world.nodes:
        labels = labels_of(node)
        if all(each["topologyKey"] in labels for each in hard):
            for each, found in zip(hard, counts, strict=True):
                if _included(node, world.pods[pod], each):
                    value = labels[each["topologyKey"]]
                    found[value] = found.get(value, 0) + _count(world, node, pod, each["labelSelector"])
    return {node["metadata"]["name"]: _code(world, node, pod, hard, counts) for node in world.nodes}


def _code(world: World, node: Object, pod: int, hard: list[Object], counts: list[dict[str, int]]) -> str:
    for each, found in zip(hard, counts, strict=True):
        value = labels_of(node).get(each["topologyKey"])
        if value is None:
            return "UAU"
        minimum = 0 if len(found) < each.get("minDomains", 1) else min(found.values())
        itself = int(selects(each["labelSelector"], labels_of(world.pods[pod])))
        if found.get(value, 0) + itself - minimum > each["maxSkew"]:
            return "U"
    return "OK"


def spread_scores(world: World, pod: int, feasible: list[str], defaults: list[Object]) -> list[int] | str:
    """0..100 for each feasible node, or SKIP."""
    soft = constraints_of(world, pod, "ScheduleAnyway", defaults)
    if not soft or not feasible:
        return "SKIP"
    require_all = bool(world.pods[pod]["spec"].get("topologySpreadConstraints")) or defaults is not SYSTEM

    def has_all(node: Object) -> bool:
        return not require_all or all(each["topologyKey"] in labels_of(node) for each in soft)

    nodes = [node for node in world.nodes if node["metadata"]["name"] in feasible]
    scored = [node for node in nodes if has_all(node)]
    raw = dict.fromkeys((node["metadata"]["name"] for node in scored), 0.0)
    for each in soft:
        key, selector = each["topologyKey"], each["labelSelector"]
        if key == HOST:
            weight = math.log(len(scored) + 2)
            total = {node["metadata"]["name"]: _count(world, node, pod, selector) for node in scored}
        else:
            sums = dict.fromkeys((labels_of(node).get(key, "") for node in scored), 0)
            weight = math.log(len(sums) + 2)
            for node in world.nodes:
                value = labels_of(node).get(key, "")
                if has_all(node) and _included(node, world.pods[pod], each) and value in sums:
                    sums[value] += _count(world, node, pod, selector)
            total = {node["metadata"]["name"]: sums[labels_of(node).get(key, "")] for node in scored}
        for node in scored:
            if key in labels_of(node):
                name = node["metadata"]["name"]
                raw[name] += total[name] * weight + (each["maxSkew"] - 1)
    return _normalise(nodes, {name: int(Decimal(value).quantize(0, ROUND_HALF_UP)) for name, value in raw.items()})


def _normalise(nodes: list[Object], raw: dict[str, int]) -> list[int]:
    names = [node["metadata"]["name"] for node in nodes]
    most, least = max(raw.values(), default=0), min(raw.values(), default=0)
    if most == 0:
        return [100 if name in raw else 0 for name in names]
    return [100 * (most + least - raw[name]) // most if name in raw else 0 for name in names]
