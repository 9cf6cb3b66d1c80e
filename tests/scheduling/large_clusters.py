"""Random clusters of more than 100 nodes, where a scheduler that looks at a window of them sees now this and now that.

Good nodes stand together, so that some windows have none of them. What normalised scores go by is scarce: soft taints,
preferred labels, racks, pods of the same application.
"""

from __future__ import annotations

from random import Random

from builders import (
    HOSTNAME,
    ZONE,
    Object,
    a_node,
    a_pod,
    a_service,
    node_affinity,
    node_term,
    pod_affinity,
    pod_anti_affinity,
    pod_term,
    selector,
    spread,
)

REGION = "topology.kubernetes.io/region"
LEGACY_ZONE = "failure-domain.beta.kubernetes.io/zone"
RACK = "rack"
WEB = {"app": "web"}
#: The pods that wait, by what decides about them.
SUBJECTS = ("nothing", "taints", "node-affinity", "spread", "default-spread", "pod-affinity", "everything")


def a_large_cluster(chance: Random, subject: str) -> list[Object]:
    """101 to 250 nodes with pods on them, and one pod ``p`` that waits."""
    names = [f"n{number:03}" for number in range(chance.randint(101, 250))]
    sizes = [chance.choice(("4", "4", "8", "9", "16")) for _ in range(10)]
    zones, racks = chance.choice(([], ["a"], ["a", "b", "c"], ["a", "a", "a", "b"])), chance.choice((4, 30, 80))
    rare = chance.choice((0.01, 0.05, 0.5))
    cluster = [_node(chance, name, _labels(chance, name, zones, racks), rare) for name in names]
    for at, node in enumerate(cluster):
        node["status"]["allocatable"]["cpu"] = node["status"]["capacity"]["cpu"] = sizes[at // 25]
    for number in range(chance.randint(0, 300)):
        node = names[int(len(names) * chance.random() ** chance.choice((1, 2)))]
        cluster.append(_placed(chance, f"u{number}", node, rare))
    cluster.append(a_service("web", selector=WEB))
    return [*cluster, _waiting(chance, subject)]


def _labels(chance: Random, name: str, zones: list[str], racks: int) -> Object:
    labels = {HOSTNAME: name, RACK: f"r{chance.randrange(racks)}"}
    if zones:
        labels |= {chance.choice((ZONE, ZONE, LEGACY_ZONE)): chance.choice(zones)}
        labels |= {REGION: chance.choice("xy")} if chance.random() < 0.2 else {}
    return labels


def _node(chance: Random, name: str, labels: Object, rare: float) -> Object:
    if chance.random() < rare:
        labels["disk"] = chance.choice(("fast", "faster"))
    if chance.random() < rare / 2:
        del labels[chance.choice((HOSTNAME, RACK))]
    taints = [f"soft{number}:PreferNoSchedule" for number in range(3) if chance.random() < rare]
    taints += ["hard:NoSchedule"] if chance.random() < 0.1 else []
    images = {"image": chance.choice((100, 400)) << 20} if chance.random() < 0.1 else None
    return a_node(name, labels=labels, taints=taints, images=images)


def _placed(chance: Random, name: str, node: str, rare: float) -> Object:
    wanting = chance.random() < rare / 2
    return a_pod(
        name,
        node=node,
        cpu=chance.choice(("100m", "100m", "1")),
        labels=WEB if chance.random() < rare * 2 else None,
        affinity=_pulling(chance) if wanting else None,
    )


def _waiting(chance: Random, subject: str) -> Object:
    def about(other: str) -> bool:
        return subject in (other, "everything")

    affinity: Object = {}
    if about("node-affinity"):
        preferred = [(chance.randint(1, 9), node_term(("disk", "In", disk))) for disk in ("fast", "faster")]
        affinity |= node_affinity(preferred=preferred)
    if about("pod-affinity"):
        affinity |= _pulling(chance)
    return a_pod(
        "p",
        cpu=chance.choice(("100m", "1")),
        images=["image"],
        labels=WEB if subject in ("pod-affinity", "spread", "default-spread", "everything") else None,
        affinity=affinity,
        spread=_constraints(chance) if about("spread") else None,
        tolerations=["soft0:PreferNoSchedule"] if about("taints") and chance.random() < 0.5 else None,
        spec={} if about("taints") else {"tolerations": [{"operator": "Exists", "effect": "PreferNoSchedule"}]},
    )


def _pulling(chance: Random) -> Object:
    terms = [
        (chance.randint(1, 9), pod_term(selector(labels=WEB), topology=chance.choice((HOSTNAME, ZONE, RACK))))
        for _ in range(chance.randint(1, 2))
    ]
    return chance.choice((pod_affinity, pod_anti_affinity))(preferred=terms)


def _constraints(chance: Random) -> list[Object]:
    keys = chance.sample((ZONE, HOSTNAME, RACK), chance.randint(1, 3))
    return [spread(chance.randint(1, 3), key, selector(labels=WEB), when="ScheduleAnyway") for key in keys]
