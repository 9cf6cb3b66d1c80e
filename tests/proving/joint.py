"""Joint plans of Rebalance with chosen targets, and clusters that they are made for."""

from __future__ import annotations

from typing import Any

import numpy as np

from builders import HOSTNAME, ZONE, Object, a_node, a_pdb, a_pod, ago, selector, spread
from descheduling.harness import a_policy
from proving.proven import TOLD, plans
from restow.descheduling.cycle import Cycle
from restow.descheduling.plan import GoalResult

REBALANCE = "Rebalance"


def pods_on(node: str, *names: str, owner: str = "web", **same: object) -> list[Object]:
    """Pods of one ReplicaSet on one node."""
    return [a_pod(name, node=node, owner=("ReplicaSet", owner), created=ago(3600), **same) for name in names]


def planned(args: Object, *objects: Object, most: int = 2, **policy: object) -> list[Cycle]:
    """Plans with chosen targets, each on what the one before predicts."""
    return list(plans([*objects, *TOLD], a_policy(REBALANCE, args, **policy), most=most, steering="nominate"))


def result(cycle: Cycle) -> GoalResult:
    """What a plan for one goal says of it."""
    (found,) = cycle.record.goals.values()
    return found


def a_random_cluster(seed: int, *, spreads: bool = True) -> list[Object]:
    """Four to six nodes in two zones with up to thirty pods of a few workloads, with budgets, and constraints of their own."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(4, 7))
    zones = {f"n{each}": "ab"[each % 2] for each in range(count)}
    nodes = [a_node(name, cpu="8", memory="16Gi", labels={HOSTNAME: name, ZONE: zone}) for name, zone in zones.items()]
    pods: list[Object] = []
    room = dict.fromkeys(zones, 7500)
    for workload in range(int(rng.integers(2, 6))):
        labels = {"app": f"w{workload}"}
        cpu = int(rng.choice([100, 300, 900, 1800]))
        rules = [
            {},
            {"spread": [spread(1, ZONE, selector(labels=labels))]},
            {"spread": [spread(2, HOSTNAME, selector(labels=labels))]},
        ]
        same = rules[int(rng.integers(3))] if spreads else {}
        for index in range(int(rng.integers(1, 7))):
            node = f"n{rng.integers(count)}" if rng.random() < 0.6 else "n0"
            if room[node] < cpu:
                continue
            room[node] -= cpu
            memory = f"{rng.integers(1, 20) * 100}Mi"
            pods += pods_on(
                node, f"w{workload}-{index}", owner=f"w{workload}", labels=labels, cpu=f"{cpu}m", memory=memory, **same
            )
    budgets = [
        a_pdb(f"w{each}", selector=selector(labels={"app": f"w{each}"}), disruptions_allowed=int(rng.integers(0, 3)))
        for each in range(3)
        if rng.random() < 0.5
    ]
    return [*nodes, *pods, *budgets]


def permuted(objects: list[Object], seed: int) -> list[Object]:
    """The same cluster, in which nodes have changed their names with one another, and so have pods."""
    rng, names = np.random.default_rng(seed), dict[str, str]()
    for kind in ("Node", "Pod"):
        of_kind = [each["metadata"]["name"] for each in objects if each["kind"] == kind]
        names |= dict(zip(of_kind, rng.permutation(of_kind).tolist(), strict=True))
    renamed: list[Object] = _renamed(objects, names)
    return renamed


def _renamed(thing: object, names: dict[str, str]) -> Any:
    match thing:
        case dict():
            return {key: _renamed(value, names) for key, value in thing.items()}
        case list():
            return [_renamed(each, names) for each in thing]
        case str():
            return names.get(thing, thing)
    return thing
