"""Cordons, taints of every effect, and pods that tolerate some of them."""

from __future__ import annotations

from builders import Object
from builders.metadata import present
from oracle.chance import Chance
from oracle.random_rules import TAINT_KEYS, some_tolerations
from oracle.random_scheduling import Subject

CORDON = "node.kubernetes.io/unschedulable"


def cordoned_node(chance: Chance) -> Object:
    """A node that may be cordoned, with the taint of a cordon or without, and the other way round."""
    taint = {"key": CORDON, "effect": chance.weighted({"NoSchedule": 8, "NoExecute": 1, "PreferNoSchedule": 1})}
    return {"unschedulable": chance.maybe(0.5), "taints": [taint] if chance.maybe(0.4) else []}


def pod_for_cordoned(chance: Chance, _waits: bool) -> Object:
    """Tolerations that come close to that of the cordon's taint."""
    toleration = present(
        key=chance.weighted({CORDON: 8, "": 2, "other": 1}) or None,
        operator=chance.weighted({None: 2, "Equal": 2, "Exists": 4, "Lt": 0.5, "Gt": 0.5}),
        value=chance.weighted({None: 5, "": 1, "x": 1}),
        effect=chance.weighted({None: 3, "NoSchedule": 4, "NoExecute": 1, "PreferNoSchedule": 1}),
    )
    return {"tolerations": [toleration] if chance.maybe(0.6) else []}


def tainted_node(chance: Chance) -> Object:
    """A node with up to four taints, most of them soft."""
    taints = []
    for _ in range(chance.randint(0, 4)):
        key = chance.choice(list(TAINT_KEYS))
        value = chance.choice([None, "", *TAINT_KEYS[key], "-5", "99999999999999999999"])
        effect = chance.weighted({"PreferNoSchedule": 6, "NoSchedule": 2, "NoExecute": 1})
        taints.append(present(key=key, value=value, effect=effect))
    return {"taints": taints}


def tolerating_pod(chance: Chance, _waits: bool) -> Object:
    """Tolerations with every operator, some of them for everything."""
    tolerations = some_tolerations(chance)
    if chance.maybe(0.1):
        tolerations.append(present(operator="Exists", effect=chance.choice([None, "PreferNoSchedule", "NoExecute"])))
    return {"tolerations": tolerations}


CORDONS = Subject(cordoned_node, pod_for_cordoned, most_waiting=12)
TAINTS = Subject(tainted_node, tolerating_pod, most_waiting=12)
