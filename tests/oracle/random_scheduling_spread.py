"""Spread constraints of pods, and those that every pod of a service or a controller gets by default."""

from __future__ import annotations

from collections.abc import Sequence

from builders import HOSTNAME, ZONE, Object, Owner, a_service, a_workload, selector, spread
from builders.metadata import uid_of
from oracle.chance import Chance
from oracle.random_rules import NAMESPACES, NODE_LABELS, POD_LABELS, label_selector, some_labels
from oracle.random_scheduling import Subject

KINDS = ("ReplicaSet", "ReplicationController", "StatefulSet", "Job", "DaemonSet")
WORKLOADS = 5


def racked_node(chance: Chance) -> Object:
    """A node with a rack, some taints, and labels for selectors of nodes."""
    labels = {"rack": chance.choice(["r1", "r2", "r3", "r4"])} if chance.maybe(0.8) else {}
    return {
        "labels": labels | some_labels(chance, NODE_LABELS, 0.5),
        "taints": [f"gpu:{chance.choice(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])}"]
        if chance.maybe(0.2)
        else [],
        "unschedulable": chance.maybe(0.05),
    }


def spread_pod(chance: Chance, waits: bool) -> Object:
    """A pod with one to three constraints, and things that change which nodes count."""
    labels = some_labels(chance, POD_LABELS, 0.8)
    fields: Object = {"labels": labels, "cpu": "10m"}
    if not waits:
        return fields
    kind = chance.weighted({"hard": 3, "soft": 3, "both": 3})
    constraints = [_constraint(chance, labels, kind) for _ in range(chance.weighted({1: 4, 2: 3, 3: 1}))]
    return fields | {
        "spread": constraints,
        "tolerations": ["gpu"] if chance.maybe(0.3) else [],
        "node_selector": some_labels(chance, NODE_LABELS, 0.3) if chance.maybe(0.2) else None,
    }


def _constraint(chance: Chance, labels: Object, kind: str) -> Object:
    meant = label_selector(chance, labels)
    hard = chance.maybe(0.5) if kind == "both" else kind == "hard"
    return spread(
        chance.weighted({1: 6, 2: 3, 5: 1}),
        chance.weighted({ZONE: 5, HOSTNAME: 4, "rack": 3, "absent": 0.3}),
        meant,
        when="DoNotSchedule" if hard else "ScheduleAnyway",
        min_domains=chance.randint(1, 5) if chance.maybe(0.2) else None,
        node_affinity_policy=chance.choice([None, None, "Honor", "Ignore"]),
        node_taints_policy=chance.choice([None, None, "Honor", "Ignore"]),
        match_label_keys=chance.some(["version", "absent", "tier"]) if chance.maybe(0.25) else None,
    )


def owned_pod(chance: Chance, _waits: bool) -> Object:
    """A pod of a controller that may exist, in a namespace with services."""
    fields: Object = {"namespace": chance.choice(NAMESPACES[:2]), "cpu": "10m"}
    if chance.maybe(0.7):
        kind, name = chance.choice(KINDS), f"w{chance.randint(0, WORKLOADS)}"
        owner = Owner(kind, name, uid_of(kind, fields["namespace"], name))
        fields["owner"] = [owner]
    if chance.maybe(0.05):
        fields["spread"] = [spread(1, ZONE, selector(labels={"app": "web"}), when="ScheduleAnyway")]
    return fields


def groups(chance: Chance, _pods: Sequence[Object]) -> list[Object]:
    """Services and controllers whose selectors match some of the pods, all of them or none."""
    found = [
        a_service(f"s{i}", namespace=chance.choice(NAMESPACES), selector=_plain_selector(chance))
        for i in range(chance.randint(0, 3))
    ]
    for i in range(WORKLOADS):
        for kind in chance.some(KINDS, most=3):
            meant = _plain_selector(chance)
            if kind != "ReplicationController":
                meant = _selector(chance)
            found.append(a_workload(kind, f"w{i}", namespace=chance.choice(NAMESPACES[:2]), selector=meant))
    return found


def _plain_selector(chance: Chance) -> Object | None:
    shape = chance.weighted({"labels": 8, "empty": 1, "none": 1})
    labels = some_labels(chance, POD_LABELS, 0.5)
    return None if shape == "none" else {} if shape == "empty" else labels


def _selector(chance: Chance) -> Object | None:
    traits, chance.traits = chance.traits, chance.traits - {"malformed"}
    meant = label_selector(chance)
    chance.traits = traits
    return meant


SPREAD = Subject(racked_node, spread_pod, most_waiting=12)
DEFAULT_SPREAD = Subject(racked_node, owned_pod, groups, most_waiting=12)
