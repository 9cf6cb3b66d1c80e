"""Clusters with one problem each, for measurements and tests: what it is, and the policy that has something to do about it.

They extend the profiles of ``restow generate``. The counts in descriptions are evictions of the Descheduler v0.36 without
limits, on 5,000 nodes with 150,000 pods.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Final

from restow.sources.synthetic import profiles as product
from restow.sources.synthetic.names import DAY, HOSTNAME, ZONE, ZONES, Object, ago
from restow.sources.synthetic.pods import HEALTHY, Life
from restow.sources.synthetic.profiles import PROFILES, Strategies, uniform_profile
from restow.sources.synthetic.scenarios import SyntheticScenario, SyntheticSize, evenly, young_and_healthy
from restow.sources.synthetic.workloads import one_per_node, only_in, spread_over

TAINTS = Strategies({"RemovePodsViolatingNodeTaints": {}})
ANTI_AFFINITY = Strategies({"RemovePodsViolatingInterPodAntiAffinity": {}})
SPREAD = Strategies({"RemovePodsViolatingTopologySpreadConstraint": {}})
NODE_AFFINITY = Strategies(
    {"RemovePodsViolatingNodeAffinity": {"nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecution"]}}
)
RESTARTS = Strategies(
    {"RemovePodsHavingTooManyRestarts": {"podRestartThreshold": 100, "includingInitContainers": True}}
)
FAILED = Strategies({"RemoveFailedPods": {"minPodLifetimeSeconds": 3600}})

#: Between the old pods of ten years ago and the young ones of 2025, so that the plan is the same until 2030.
FIVE_YEARS = 5 * 365 * DAY
LIFETIME = Strategies({"PodLifeTime": {"maxPodLifeTimeSeconds": FIVE_YEARS}})
LIFETIME_NODE_FIT = Strategies(LIFETIME.arguments, {"nodeFit": True})
TAINTS_NODE_FIT = Strategies(TAINTS.arguments, {"nodeFit": True})


#: Of this many owners one has two replicas on one node.
ALMOST = 100


def almost_evenly(size: SyntheticSize, owner: int, replica: int) -> int:
    """Evenly, but of one owner in a hundred the first two replicas share a node."""
    shared = owner % ALMOST == 0 and replica == 1
    return evenly(size, owner, 0 if shared else replica)


def any_zone(size: SyntheticSize, owner: int, replica: int) -> int:
    """Put a third of each owner's replicas in every zone, whichever zone the owner prefers."""
    return _in_zone(size, owner, replica, (owner + size.replicas * owner + replica) % len(ZONES))


def uneven_zones(size: SyntheticSize, owner: int, replica: int) -> int:
    """Of ten replicas 8, 1 and 1 per zone for every third owner, 7, 2 and 1 for the others: 65 moves in 15 owners."""
    eight = owner // len(ZONES) % 3 == 0
    share = replica * 10 // size.replicas
    place = 0 if share < (8 if eight else 7) else 1 if share < 9 else 2
    return _in_zone(size, owner, replica, (owner + place) % len(ZONES))


def _in_zone(size: SyntheticSize, owner: int, replica: int, zone: int) -> int:
    """Choose a node of a zone: the replicas of all owners take turns. With fewer nodes than zones, any node."""
    zone %= size.nodes
    nodes = -(-(size.nodes - zone) // len(ZONES))
    return zone + len(ZONES) * ((owner * size.replicas + replica) % nodes)


def spread_over_nodes(_owner: int, app: str) -> Object:
    """For a scenario: one hostname constraint per owner."""
    return spread_over(HOSTNAME, app)


def spread_over_zones(_owner: int, app: str) -> Object:
    """For a scenario: one zone constraint per owner."""
    return spread_over(ZONE, app)


def apart(_owner: int, app: str) -> Object:
    """For a scenario: every pod has an anti-affinity term."""
    return one_per_node(app)


def home_zone(owner: int, _app: str) -> Object:
    """For a scenario: owners take turns in the zone they require."""
    return only_in(ZONES[owner % len(ZONES)])


def nowhere(_owner: int, _app: str) -> Object:
    """For a scenario: a zone that no node is in."""
    return only_in("zone-x")


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


PROBLEMS: Final = {
    "lifetime": uniform_profile(
        "PodLifeTime: one pod in a hundred is old (1,500 evictions)", SyntheticScenario(life=some_old), LIFETIME
    ),
    "lifetime-nodefit": uniform_profile(
        "PodLifeTime with nodeFit: every pod fits elsewhere, none is old enough (0 evictions)",
        SyntheticScenario(),
        LIFETIME_NODE_FIT,
    ),
    "taints": uniform_profile(
        "RemovePodsViolatingNodeTaints on nodes without taints (0 evictions)", SyntheticScenario(), TAINTS
    ),
    "taints-full": uniform_profile(
        "RemovePodsViolatingNodeTaints with nodeFit: no node has any CPU left (0 evictions)",
        SyntheticScenario(room=none_left),
        TAINTS_NODE_FIT,
    ),
    "node-affinity": uniform_profile(
        "RemovePodsViolatingNodeAffinity: two pods of three run in the wrong zone and fit in the right one "
        "(100,000 evictions)",
        SyntheticScenario(place=any_zone, rules=home_zone),
        NODE_AFFINITY,
    ),
    "node-affinity-nowhere": uniform_profile(
        "RemovePodsViolatingNodeAffinity: every pod requires a zone that no node is in (0 evictions)",
        SyntheticScenario(rules=nowhere),
        NODE_AFFINITY,
    ),
    "spread-hostname": uniform_profile(
        "TopologySpread: one hostname constraint per owner, one owner in a hundred a pod too many on a node "
        "(150 evictions)",
        SyntheticScenario(place=almost_evenly, rules=spread_over_nodes),
        SPREAD,
    ),
    "spread-zone": uniform_profile(
        "TopologySpread: one zone constraint per owner, 8-1-1 or 7-2-1 pods in three zones (65,001 evictions)",
        SyntheticScenario(place=uneven_zones, rules=spread_over_zones),
        SPREAD,
    ),
    "spread-one-namespace": uniform_profile(
        "TopologySpread: as spread-zone, all owners in one namespace (65,001 evictions)",
        SyntheticScenario(place=uneven_zones, rules=spread_over_zones, namespaces=1),
        SPREAD,
    ),
    "spread-nofit": uniform_profile(
        "TopologySpread: as spread-zone with a thousand pods per owner, and no node has any CPU left (0 evictions)",
        SyntheticScenario(place=uneven_zones, rules=spread_over_zones, room=none_left, replicas=thousand_each),
        SPREAD,
    ),
    "anti-affinity": uniform_profile(
        "InterPodAntiAffinity: every pod repels its own kind, one owner in a hundred shares a node (150 evictions)",
        SyntheticScenario(place=almost_evenly, rules=apart),
        ANTI_AFFINITY,
    ),
    "anti-affinity-one-namespace": uniform_profile(
        "InterPodAntiAffinity: as anti-affinity, all pods in one namespace (150 evictions)",
        SyntheticScenario(place=almost_evenly, rules=apart, namespaces=1),
        ANTI_AFFINITY,
    ),
    "restarts": uniform_profile(
        "RemovePodsHavingTooManyRestarts: one pod in fifty crashes (3,000 evictions)",
        SyntheticScenario(life=some_crashing),
        RESTARTS,
    ),
    "failed": uniform_profile(
        "RemoveFailedPods: one pod in ten failed (15,000 evictions)", SyntheticScenario(life=some_failed), FAILED
    ),
}

#: The profiles of ``restow generate``, and these.
ALL_PROFILES: Final = {**PROFILES, **PROBLEMS}

generate = partial(product.generate, known=ALL_PROFILES)
policy_for = partial(product.policy_for, known=ALL_PROFILES)
