"""Clusters with one problem each: what it is, and the policy that has something to do about it.

The counts in descriptions are evictions of the Descheduler v0.36 without limits, on 5,000 nodes with 150,000 pods.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import yaml

from restow.sources.synthetic import placements, workloads
from restow.sources.synthetic.names import DAY, ago
from restow.sources.synthetic.pods import HEALTHY, Life
from restow.sources.synthetic.scenarios import SyntheticScenario, young_and_healthy

if TYPE_CHECKING:
    from random import Random

    from restow.sources.synthetic.names import Object
    from restow.sources.synthetic.placements import SyntheticSize


@dataclass(slots=True, frozen=True)
class Strategies:
    """Strategies with their arguments, in running order, and the evictor they share."""

    arguments: dict[str, Object]
    evictor: Object = field(default_factory=dict)


TAINTS = Strategies({"RemovePodsViolatingNodeTaints": {}})
DUPLICATES = Strategies({"RemoveDuplicates": {}})
ANTI_AFFINITY = Strategies({"RemovePodsViolatingInterPodAntiAffinity": {}})
SPREAD = Strategies({"RemovePodsViolatingTopologySpreadConstraint": {}})
NODE_AFFINITY = Strategies(
    {"RemovePodsViolatingNodeAffinity": {"nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecution"]}}
)
LOW = Strategies({"LowNodeUtilization": {"thresholds": {"cpu": 25}, "targetThresholds": {"cpu": 50}}})
RESTARTS = Strategies(
    {"RemovePodsHavingTooManyRestarts": {"podRestartThreshold": 100, "includingInitContainers": True}}
)
FAILED = Strategies({"RemoveFailedPods": {"minPodLifetimeSeconds": 3600}})

#: Between the old pods of ten years ago and the young ones of 2025, so that the plan is the same until 2030.
FIVE_YEARS = 5 * 365 * DAY
LIFETIME = Strategies({"PodLifeTime": {"maxPodLifeTimeSeconds": FIVE_YEARS}})
LIFETIME_NODE_FIT = Strategies(LIFETIME.arguments, {"nodeFit": True})
TAINTS_NODE_FIT = Strategies(TAINTS.arguments, {"nodeFit": True})

#: Where upstream runs each strategy.
_BALANCE = frozenset(
    {
        "RemoveDuplicates",
        "LowNodeUtilization",
        "HighNodeUtilization",
        "RemovePodsViolatingTopologySpreadConstraint",
    }
)


@dataclass(slots=True, frozen=True)
class ProblemCluster:
    """A cluster, the policy for it, and one sentence on both."""

    description: str
    scenario: SyntheticScenario
    strategies: Strategies


def twice_the_average(size: SyntheticSize, _placed: int) -> int:
    """Nodes that are half full when the pods are spread evenly."""
    return 2 * size.pods_per_node


def none_left(_size: SyntheticSize, placed: int) -> int:
    """Nodes whose CPU is requested to the last milli."""
    return placed


def some_old(pod: int, rng: Random) -> tuple[str, Life]:
    """One pod in a hundred is ten years old."""
    return (ago(10 * 365 * DAY + pod), HEALTHY) if pod % 100 == 0 else young_and_healthy(pod, rng)


def some_crashing(pod: int, rng: Random) -> tuple[str, Life]:
    """One pod in fifty restarts again and again."""
    created, life = young_and_healthy(pod, rng)
    if pod % 50 == 0:
        life = Life(restarts=100 + int(rng.random() * 400), waiting="CrashLoopBackOff")
    return created, life


FAILURES = (
    Life("Failed", reason="Evicted"),
    Life("Failed", reason="NodeAffinity"),
    Life("Failed", terminated="Error", exit_code=1),
    Life("Failed", terminated="OOMKilled", exit_code=137),
    Life("Failed", terminated="ContainerCannotRun", exit_code=127),
)


def some_failed(pod: int, rng: Random) -> tuple[str, Life]:
    """One pod in ten failed between a day and four weeks ago."""
    if pod % 10:
        return young_and_healthy(pod, rng)
    return ago(DAY + int(rng.random() * 27 * DAY)), FAILURES[pod // 10 % len(FAILURES)]


def thousand_each(pods: int) -> int:
    """Say a thousand pods an owner, fewer in small clusters."""
    return min(1000, max(10, pods // 30))


PROBLEMS = {
    "lifetime": ProblemCluster(
        "PodLifeTime: one pod in a hundred is old (1,500 evictions)", SyntheticScenario(life=some_old), LIFETIME
    ),
    "lifetime-nodefit": ProblemCluster(
        "PodLifeTime with nodeFit: every pod fits elsewhere, none is old enough (0 evictions)",
        SyntheticScenario(),
        LIFETIME_NODE_FIT,
    ),
    "taints": ProblemCluster(
        "RemovePodsViolatingNodeTaints on nodes without taints (0 evictions)", SyntheticScenario(), TAINTS
    ),
    "taints-full": ProblemCluster(
        "RemovePodsViolatingNodeTaints with nodeFit: no node has any CPU left (0 evictions)",
        SyntheticScenario(room=none_left),
        TAINTS_NODE_FIT,
    ),
    "low-utilization": ProblemCluster(
        "LowNodeUtilization: half the nodes at 77 % CPU, the others at 23 % (40,000 evictions)",
        SyntheticScenario(place=placements.hot_half, room=twice_the_average),
        LOW,
    ),
    "duplicates": ProblemCluster(
        "RemoveDuplicates: every owner runs in pairs (75,000 evictions)",
        SyntheticScenario(place=placements.in_pairs),
        DUPLICATES,
    ),
    "node-affinity": ProblemCluster(
        "RemovePodsViolatingNodeAffinity: two pods of three run in the wrong zone and fit in the right one "
        "(100,000 evictions)",
        SyntheticScenario(place=placements.any_zone, rules=workloads.home_zone),
        NODE_AFFINITY,
    ),
    "node-affinity-nowhere": ProblemCluster(
        "RemovePodsViolatingNodeAffinity: every pod requires a zone that no node is in (0 evictions)",
        SyntheticScenario(rules=workloads.nowhere),
        NODE_AFFINITY,
    ),
    "spread-hostname": ProblemCluster(
        "TopologySpread: one hostname constraint per owner, one owner in a hundred a pod too many on a node "
        "(150 evictions)",
        SyntheticScenario(place=placements.almost_evenly, rules=workloads.spread_over_nodes),
        SPREAD,
    ),
    "spread-zone": ProblemCluster(
        "TopologySpread: one zone constraint per owner, 8-1-1 or 7-2-1 pods in three zones (65,001 evictions)",
        SyntheticScenario(place=placements.uneven_zones, rules=workloads.spread_over_zones),
        SPREAD,
    ),
    "spread-one-namespace": ProblemCluster(
        "TopologySpread: as spread-zone, all owners in one namespace (65,001 evictions)",
        SyntheticScenario(place=placements.uneven_zones, rules=workloads.spread_over_zones, namespaces=1),
        SPREAD,
    ),
    "spread-nofit": ProblemCluster(
        "TopologySpread: as spread-zone with a thousand pods per owner, and no node has any CPU left (0 evictions)",
        SyntheticScenario(
            place=placements.uneven_zones, rules=workloads.spread_over_zones, room=none_left, replicas=thousand_each
        ),
        SPREAD,
    ),
    "anti-affinity": ProblemCluster(
        "InterPodAntiAffinity: every pod repels its own kind, one owner in a hundred shares a node (150 evictions)",
        SyntheticScenario(place=placements.almost_evenly, rules=workloads.apart),
        ANTI_AFFINITY,
    ),
    "anti-affinity-one-namespace": ProblemCluster(
        "InterPodAntiAffinity: as anti-affinity, all pods in one namespace (150 evictions)",
        SyntheticScenario(place=placements.almost_evenly, rules=workloads.apart, namespaces=1),
        ANTI_AFFINITY,
    ),
    "restarts": ProblemCluster(
        "RemovePodsHavingTooManyRestarts: one pod in fifty crashes (3,000 evictions)",
        SyntheticScenario(life=some_crashing),
        RESTARTS,
    ),
    "failed": ProblemCluster(
        "RemoveFailedPods: one pod in ten failed (15,000 evictions)", SyntheticScenario(life=some_failed), FAILED
    ),
}


def policy_text(strategies: Strategies) -> str:
    """One profile as v1alpha2 YAML."""
    enabled = {
        point: {"enabled": names}
        for point in ("deschedule", "balance")
        if (names := [name for name in strategies.arguments if _point(name) == point])
    }
    profile = {
        "name": "default",
        "pluginConfig": [
            {"name": name, "args": args}
            for name, args in ({"DefaultEvictor": strategies.evictor} | strategies.arguments).items()
        ],
        "plugins": enabled,
    }
    policy = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy", "profiles": [profile]}
    return str(yaml.safe_dump(policy, sort_keys=False))


def _point(name: str) -> Literal["deschedule", "balance"]:
    return "balance" if name in _BALANCE else "deschedule"
