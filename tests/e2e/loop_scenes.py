"""Clusters of five nodes on which evictions gain nothing, because the replacement is as badly placed as the pod was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from builders import HOSTNAME, ZONE, node_affinity, node_term, pod_affinity, pod_term, selector, spread
from builders.policies import Policy, strategy_policy
from e2e.placed import Placed
from e2e.workloads import replica_set

#: Of zones a, b, c, a, b, with 4 CPUs each.
NODES = ("node-1", "node-2", "node-3", "node-4", "node-5")
_PINNED_WORKLOADS, _PINNED_REPLICAS = 4, 5


@dataclass(slots=True, frozen=True)
class Scene:
    """Workloads on ``NODES``, and the policy that takes offence."""

    name: str
    workloads: Callable[[], list[Placed]]
    policy: Callable[[], Policy]


def huge_pod() -> list[Placed]:
    """One pod that takes three quarters of any node."""
    return [Placed(replica_set("huge", 1, cpu="3"), ["node-1"])]


def pinned() -> list[Placed]:
    """Pods that fill most of the only node that they may be on."""
    only = node_affinity(required=[node_term((HOSTNAME, "In", "node-1"))])
    names = [f"pinned-{number}" for number in range(_PINNED_WORKLOADS)]
    sets = [replica_set(name, _PINNED_REPLICAS, cpu="150m", affinity=only) for name in names]
    return [Placed(each, ["node-1"] * _PINNED_REPLICAS) for each in sets]


def torn() -> list[Placed]:
    """Pods that would rather be together in zone a, and softly are to be spread over the zones."""
    ours = selector(labels={"app": "torn"})
    liked = node_affinity(preferred=[(100, node_term((ZONE, "In", "a")))])
    together = pod_affinity(preferred=[(100, pod_term(ours, topology=ZONE))])
    soft = [spread(1, ZONE, ours, when="ScheduleAnyway")]
    return [
        Placed(replica_set("torn", 9, affinity=liked | together, spread=soft), ["node-1", "node-4"] * 4 + ["node-1"])
    ]


def balance() -> Policy:
    """From nodes above half of their CPUs to those below a fifth."""
    return strategy_policy("LowNodeUtilization", {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}})


def spread_softly() -> Policy:
    """Soft constraints count as well."""
    constraints = {"constraints": ["DoNotSchedule", "ScheduleAnyway"]}
    return strategy_policy("RemovePodsViolatingTopologySpreadConstraint", constraints)


SCENES = (
    Scene("a huge pod above the target threshold", huge_pod, balance),
    Scene("20 pods pinned to their node by required affinity", pinned, balance),
    Scene("soft zone spread against preferred affinity", torn, spread_softly),
)
