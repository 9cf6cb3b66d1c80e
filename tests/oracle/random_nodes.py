"""Random nodes: two to eight, small enough that pods can fill them."""

from __future__ import annotations

from builders import HOSTNAME, ZONE, a_node
from builders.metadata import Object
from oracle.chance import Chance
from oracle.random_rules import NODE_LABELS, NODE_NAMES, ZONES, some_labels, some_taints

GPU = "example.com/gpu"
HUGE = "hugepages-2Mi"
DISK = "ephemeral-storage"
#: CPU, memory and pod slots to choose from.
TIGHT = (("1", "2", "2000m", "4"), ("1Gi", "2Gi", "4Gi"), (3, 5, 6, 8, 9, 10, 20))
ROOMY = (("2", "4000m", "4", "8"), ("2Gi", "4Gi", "8Gi"), (20, 29, 110))


def some_nodes(chance: Chance) -> list[Object]:
    """The nodes of a cluster, in no order."""
    names = list(NODE_NAMES[: chance.weighted({1: 0.2, 2: 2, 3: 4, 4: 5, 5: 4, 6: 3, 7: 2, 8: 2})])
    chance.shuffle(names)
    return [_node(chance, name) for name in names]


def _node(chance: Chance, name: str) -> Object:
    cpu, memory, pods = TIGHT if "tight" in chance.traits else ROOMY
    cordoned = chance.has("cordoned", 0.3)
    taints = some_taints(chance) if chance.has("taints", 0.5) else []
    if cordoned and chance.maybe(0.7):
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    node = a_node(
        name,
        cpu="2.5" if chance.has("odd-quantities", 0.3) else chance.choice(cpu),
        memory="3e9" if chance.has("odd-quantities", 0.3) else chance.choice(memory),
        pods=chance.choice(pods),
        extended=_extended(chance),
        labels=_labels(chance, name),
        taints=list(taints),
        unschedulable=cordoned,
        ready=chance.choice([False, "Unknown", None]) if chance.has("unready", 0.2) else True,
    )
    if chance.has("no-allocatable", 0.2):
        del node["status"]["allocatable"][chance.choice(["cpu", "memory", "pods"])]
    if chance.has("no-allocatable", 0.2):
        part = chance.choice(["allocatable", "capacity"])
        node["status"] = {key: value for key, value in node["status"].items() if key != part}
    return node


def _extended(chance: Chance) -> Object:
    extended = {}
    if chance.has("extended", 0.6):
        extended[GPU] = chance.choice([0, 1, 2, 4])
    if chance.has("extended", 0.2):
        extended[HUGE] = "64Mi"
    if chance.has("extended", 0.6):
        extended[DISK] = chance.choice(["2Gi", "5Gi"])
    return extended


def _labels(chance: Chance, name: str) -> dict[str, str]:
    labels = some_labels(chance, NODE_LABELS, 0.8)
    if not chance.has("unzoned", 0.3):
        labels[ZONE] = chance.choice(ZONES)
    if not chance.has("unzoned", 0.2):
        labels[HOSTNAME] = chance.choice(NODE_NAMES) if chance.has("unzoned", 0.1) else name
    return labels
