"""Random controllers: what all replicas of one have in common, and where they like to be."""

from __future__ import annotations

from dataclasses import dataclass, field

from builders import Owner, uid_of
from builders.metadata import Object
from oracle.chance import Chance
from oracle.random_containers import some_containers, some_init_containers, some_resources
from oracle.random_rules import (
    NAMESPACES,
    NODE_LABELS,
    POD_LABELS,
    some_anti_affinity,
    some_labels,
    some_node_affinity,
    some_spread,
    some_tolerations,
)

KINDS = {"ReplicaSet": 10, "StatefulSet": 3, "Job": 2, "Node": 0.3}
CRITICAL = 2_000_000_000


@dataclass(slots=True, frozen=True)
class Workload:
    """The template of a controller's pods."""

    namespace: str
    owners: list[tuple[str, ...]]
    replicas: int
    #: How much each node draws replicas.
    draw: dict[str, float]
    labels: dict[str, str]
    #: The template, and the one before it while a change rolls out.
    revisions: list[Object] = field(default_factory=list)


def a_random_workload(chance: Chance, index: int, popularity: dict[str, float]) -> Workload:
    """One controller with one to nine replicas, crowded on some of the nodes, most on popular ones."""
    namespace = chance.choice(NAMESPACES)
    labels = {"app": chance.choice(POD_LABELS["app"])} | some_labels(chance, POD_LABELS, 0.3)
    return Workload(
        namespace=namespace,
        owners=_owners(chance, index, namespace),
        replicas=chance.randint(1, 9),
        draw={node: popular * chance.choice([0.1, 1, 4]) for node, popular in popularity.items()},
        labels=labels,
        revisions=[_template(chance, labels) for _ in range(2 if chance.has("revisions", 0.4) else 1)],
    )


def _owners(chance: Chance, index: int, namespace: str) -> list[tuple[str, ...]]:
    if chance.has("bare", 0.2):
        return []
    kind = "DaemonSet" if chance.has("daemons", 0.2) else chance.weighted(KINDS)
    owners = [_owner(chance, kind, f"w{index}", namespace)]
    if chance.has("several-owners", 0.4):
        owners.append(_owner(chance, chance.weighted(KINDS), f"w{chance.randint(0, index + 1)}", namespace))
    return owners


def _owner(chance: Chance, kind: str, name: str, namespace: str) -> Owner:
    return Owner(kind, name, "" if chance.has("uncontrolled", 0.2) else uid_of(kind, namespace, name))


def _template(chance: Chance, labels: dict[str, str]) -> Object:
    affinity = some_node_affinity(chance) if chance.maybe(0.7) else {}
    if chance.has("anti-affinity", 0.7):
        affinity = affinity | some_anti_affinity(chance, labels)
    spec: Object = {
        "containers": some_containers(chance),
        "initContainers": some_init_containers(chance) if chance.has("init", 0.5) else None,
        "affinity": affinity or None,
        "nodeSelector": some_labels(chance, NODE_LABELS, 0.25) or None if chance.has("pools", 0.6) else None,
        "tolerations": some_tolerations(chance) if chance.has("tolerations", 0.6) else None,
        "topologySpreadConstraints": some_spread(chance, labels) if chance.has("spread", 0.7) else None,
        "overhead": {"cpu": "30m", "memory": "10Mi"} if chance.has("overhead", 0.4) else None,
        "resources": some_resources(chance) if chance.has("pod-level", 0.4) else None,
        "resourceClaims": [{"name": "gpu"}] if chance.has("resource-claims", 0.3) else None,
        "priority": _priority(chance),
    }
    return {key: value for key, value in spec.items() if value is not None}


def _priority(chance: Chance) -> int | None:
    if chance.has("no-priority", 0.3):
        return None
    if chance.has("critical", 0.2):
        return chance.choice([CRITICAL, CRITICAL + 1000, CRITICAL - 1])
    return chance.choice([-10, 0, 100, 1000])
