"""Random clusters for the scheduler: what all subjects have in common.

A subject says how its nodes and pods look; here are those that come and go: pods on nodes, pods that wait, and the odd ones
among both. Kept away is what kube-scheduler leaves to chance: which of two pods on a node started first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from builders import HOSTNAME, ZONE, Object, a_condition, a_namespace, a_node, a_pod, ago
from oracle.chance import Chance
from oracle.random_rules import NAMESPACES, NODE_NAMES, POD_LABELS, ZONES, some_labels

#: Of pods that have a node, and of those that want one.
PRIORITIES, AMBITIONS = (-10, 0, 0, 5, 10, 100), (None, 0, 0, 5, 10, 10, 1000)
#: What only some of the cases know.
ODDITIES = (
    "crowded",
    "finished",
    "foreign",
    "gated",
    "important",
    "leaving",
    "lost",
    "malformed",
    "never-preempts",
    "no-namespaces",
    "nominated",
    "unlabelled",
)
TEAMS = ("red", "blue")
PREEMPTED = a_condition("DisruptionTarget", "True", reason="PreemptionByScheduler")


def nothing(_chance: Chance) -> Object:
    """No fields of its own."""
    return {}


def no_pods(_chance: Chance, _waits: bool) -> Object:
    """No fields of its own."""
    return {}


def no_others(_chance: Chance, _pods: Sequence[Object]) -> list[Object]:
    """No further objects."""
    return []


@dataclass(slots=True, frozen=True)
class Subject:
    """What a plugin looks at: arguments of ``a_node``, of ``a_pod`` (for one that waits or not), and further objects."""

    node: Callable[[Chance], Object] = nothing
    pod: Callable[[Chance, bool], Object] = no_pods
    others: Callable[[Chance, Sequence[Object]], list[Object]] = no_others
    most_waiting: int = 8


def a_scheduling_cluster(chance: Chance, subjects: Sequence[Subject]) -> list[Object]:
    """Nodes, pods on them, pods that wait, and the subjects' own objects, in no order."""
    chance.traits = frozenset(oddity for oddity in ODDITIES if chance.maybe(0.3))
    names = list(NODE_NAMES[: chance.randint(1, len(NODE_NAMES)) if chance.maybe(0.3) else chance.randint(2, 5)])
    nodes = [_node(chance, name, subjects) for name in names]
    ages = iter(chance.sample(range(100, 10_000), 100))
    crowd = 5 if "crowded" in chance.traits else 3
    places = [name for name in names for _ in range(chance.randint(0, crowd))]
    places += ["gone"] * chance.randint(1, 2) if "lost" in chance.traits else []
    pods = [_placed(chance, f"u{i}", node, next(ages), subjects) for i, node in enumerate(places)]
    waiting = chance.randint(2, min(each.most_waiting for each in subjects))
    pods += [_waiting(chance, f"w{i}", names, subjects) for i in range(waiting)]
    others = [other for each in subjects for other in each.others(chance, pods)]
    cluster = [*nodes, *pods, *_namespaces(chance), *others]
    chance.shuffle(cluster)
    return cluster


def merged(parts: Iterable[Object]) -> Object:
    """All fields of some objects: maps and lists together, of anything else the last."""
    result: Object = {}
    for part in parts:
        for key, value in part.items():
            known = result.get(key)
            if isinstance(known, dict) and isinstance(value, dict):
                result[key] = merged([known, value])
            elif isinstance(known, list) and isinstance(value, list):
                result[key] = known + value
            elif value is not None:
                result[key] = value
    return result


def _node(chance: Chance, name: str, subjects: Sequence[Subject]) -> Object:
    labels = {HOSTNAME: name, ZONE: chance.choice(ZONES)}
    if chance.has("unlabelled", 0.2):
        labels[HOSTNAME] = chance.choice(NODE_NAMES)
    if chance.has("unlabelled", 0.2):
        del labels[chance.choice([HOSTNAME, ZONE])]
    fields = merged([{"labels": labels}, *(each.node(chance) for each in subjects)])
    if chance.has("unlabelled", 0.05):
        fields["labels"] = None
    status = fields.pop("status", {})
    node = a_node(name, **fields)
    node["status"] |= status
    return node


def _placed(chance: Chance, name: str, node: str, age: int, subjects: Sequence[Subject]) -> Object:
    leaving = chance.has("leaving", 0.3)
    return _pod(
        chance,
        name,
        subjects,
        waits=False,
        node=node,
        started=ago(age),
        phase=chance.choice(["Succeeded", "Failed"]) if chance.has("finished", 0.15) else "Running",
        deleted=ago(1) if leaving else None,
        conditions=[PREEMPTED] if leaving and chance.maybe(0.5) else None,
    )


def _waiting(chance: Chance, name: str, nodes: list[str], subjects: Sequence[Subject]) -> Object:
    spec: Object = {"preemptionPolicy": "Never"} if chance.has("never-preempts", 0.4) else {}
    if chance.has("gated", 0.2):
        spec["schedulingGates"] = [{"name": gate} for gate in chance.some(["a", "b"])]
    if chance.has("foreign", 0.1):
        spec["schedulerName"] = "other"
    plain = "schedulingGates" not in spec and "schedulerName" not in spec
    leaving = plain and chance.has("leaving", 0.1)
    nominated = plain and not leaving and chance.has("nominated", 0.4)
    return _pod(
        chance,
        f"{chance.choice('abc')}{name}",
        subjects,
        waits=True,
        created=None if chance.maybe(0.05) else ago(100 * chance.randint(1, 9)),
        deleted=ago(1) if leaving else None,
        nominated_node=chance.choice([*nodes, "gone"]) if nominated else None,
        phase=chance.choice(["Succeeded", "Failed"]) if chance.has("finished", 0.05) else "Pending",
        spec=spec,
    )


def _pod(chance: Chance, name: str, subjects: Sequence[Subject], *, waits: bool, **common: Any) -> Object:
    fields = merged([_usual(chance, waits), common, *(each.pod(chance, waits) for each in subjects)])
    reported = fields.pop("pod_resources", {})
    pod = a_pod(name, **fields)
    pod["status"] |= reported
    return pod


def _usual(chance: Chance, waits: bool) -> Object:
    priority: int | None = 0
    if "important" in chance.traits:
        priority = chance.choice(AMBITIONS if waits else PRIORITIES)
    return {
        "namespace": chance.weighted(dict(zip(NAMESPACES, (6, 2, 1), strict=True))),
        "labels": some_labels(chance, POD_LABELS, 0.7) or None,
        "priority": priority,
    }


def _namespaces(chance: Chance) -> list[Object]:
    share = 0.5 if "no-namespaces" in chance.traits else 1.0
    return [
        a_namespace(name, labels={"team": chance.choice(TEAMS)} if chance.maybe(0.8) else None)
        for name in (*NAMESPACES, "empty")
        if chance.maybe(share)
    ]
