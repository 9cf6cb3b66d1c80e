"""How NodeResourceTopologyMatch scores a node for a pod, by what its NUMA nodes have available.

``LeastAllocated``, ``MostAllocated`` and ``BalancedAllocation`` score each NUMA node of a node with ``single-numa-node`` and
take the worst that has room; ``LeastNUMANodes`` counts how many NUMA nodes a pod needs on any node, and prefers those that
are near one another. A pod that is not Guaranteed scores 100 everywhere, and a node that says nothing of itself 0. Source:
NodeResourceTopologyMatch of kubernetes-sigs/scheduler-plugins v0.33.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from itertools import combinations
from typing import Final, NamedTuple

from msgspec import structs

from restow.kube.quantity import NANO_PER_UNIT
from restow.scheduling.framework.extension_points import MAX_SCORE
from restow.scheduling.numa.amounts import Amounts
from restow.scheduling.numa.matching import MatchedPod, MatchedTopology, Zone, suits
from restow.scheduling.numa.topology import TopologyPolicy, TopologyScope

#: What is not said of a distance, and the largest one of all.
_FARTHEST: Final = 255
#: With more NUMA nodes there are too many sets of them to look at; machines have up to eight.
_MOST_ZONES: Final = 12


class ZoneScoring(StrEnum):
    """``scoringStrategy.type``."""

    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    BALANCED_ALLOCATION = "BalancedAllocation"
    LEAST_NUMA_NODES = "LeastNUMANodes"


def score(strategy: ZoneScoring, weights: Mapping[str, int], topology: MatchedTopology, pod: MatchedPod) -> int:
    """0 to 100 for a Guaranteed pod; ``weights`` by resource, 1 for those that have none."""
    settings = topology.settings
    in_turn = settings.scope is TopologyScope.CONTAINER
    containers = [*(each for each, _ in pod.init), *pod.regular]
    if strategy is ZoneScoring.LEAST_NUMA_NODES:
        return _by_number(topology, pod, containers if in_turn else [pod.effective])
    if settings.policy is not TopologyPolicy.SINGLE:
        return 0
    of_zone = partial(_OF_ZONE[strategy], weights)
    scores = [_worst(of_zone, each, topology.zones) for each in (containers if in_turn else [pod.effective])]
    return sum(scores) // max(len(scores), 1)


def _worst(of_zone: Callable[[Amounts, Amounts], int], asks: Amounts, zones: Sequence[Zone]) -> int:
    """The lowest score of a NUMA node that has one; 0 if none has."""
    return min((each for zone in zones if (each := of_zone(asks, zone.available))), default=0)


def _least(weights: Mapping[str, int], asks: Amounts, available: Amounts) -> int:
    return _weighted(weights, asks, available, lambda asked, has: (has - asked) * MAX_SCORE // has)


def _most(weights: Mapping[str, int], asks: Amounts, available: Amounts) -> int:
    return _weighted(weights, asks, available, lambda asked, has: asked * MAX_SCORE // has)


def _weighted(weights: Mapping[str, int], asks: Amounts, available: Amounts, share: Callable[[int, int], int]) -> int:
    """The mean of the resources; one that a NUMA node lacks counts as 0."""
    total = heavy = 0
    for name, asked in asks.items():
        has, weight = available.get(name, 0), max(weights.get(name, 1), 1)
        heavy += weight
        if has > 0 and asked <= has:
            total += weight * share(_whole(asked), _whole(has))
    return total // max(heavy, 1)


def _balanced(_weights: Mapping[str, int], asks: Amounts, available: Amounts) -> int:
    shares = [_share(_whole(asked), _whole(available.get(name, 0))) for name, asked in asks.items()]
    # A sample of one has no variance.
    if len(shares) == 1 or any(each > 1 for each in shares):
        return 0
    return int((1 - _variance(shares)) * MAX_SCORE)


def _share(asked: int, has: int) -> float:
    return asked / has if has else 1.0


def _variance(values: Sequence[float]) -> float:
    """Of a sample."""
    mean = sum(values) / len(values)
    differences = [each - mean for each in values]
    correction = sum(differences)
    squares = sum(each * each for each in differences)
    return (squares - correction * correction / len(values)) / (len(values) - 1)


def _whole(nano: int) -> int:
    """In whole units, rounded up."""
    return -(-nano // NANO_PER_UNIT)


_OF_ZONE: Final[Mapping[ZoneScoring, Callable[[Mapping[str, int], Amounts, Amounts], int]]] = {
    ZoneScoring.LEAST_ALLOCATED: _least,
    ZoneScoring.MOST_ALLOCATED: _most,
    ZoneScoring.BALANCED_ALLOCATION: _balanced,
}


class _Needed(NamedTuple):
    """The NUMA nodes that something needs, by position, and whether no others of that number are nearer."""

    positions: tuple[int, ...]
    nearest: bool


def _by_number(topology: MatchedTopology, pod: MatchedPod, parts: Sequence[Amounts]) -> int:
    """More for fewer NUMA nodes, of the part that needs most of them; 0 where there are too many to look at."""
    if len(topology.zones) > _MOST_ZONES:
        return 0
    zones, most, nearest = list(topology.zones), 0, True
    for asks in parts:
        if not any(name in each.available for each in zones for name in asks):
            continue
        needed = _needed(pod, zones, asks)
        if needed is None:
            return 0
        most, nearest = max(most, len(needed.positions)), nearest and needed.nearest
        # The plugin takes a NUMA node's number for its position among them.
        zones = _left(zones, asks, sorted(zones[at].number for at in needed.positions))
    if most == 0:
        return MAX_SCORE
    step = MAX_SCORE // topology.settings.most
    return MAX_SCORE - most * step + (step // 2 if nearest else 0)


def _needed(pod: MatchedPod, zones: Sequence[Zone], asks: Amounts) -> _Needed | None:
    """The fewest NUMA nodes that have enough together, and of these the nearest; None if all together have not."""
    for size in range(1, len(zones) + 1):
        found = _nearest(pod, zones, asks, size)
        if found is not None:
            return found
    return None


def _nearest(pod: MatchedPod, zones: Sequence[Zone], asks: Amounts, size: int) -> _Needed | None:
    sets = list(combinations(range(len(zones)), size))
    # Distances are sums over all pairs, which compare as their means do.
    least = min(_FARTHEST * size * size, *(_distance(zones, some) for some in sets))
    chosen, best = None, (_FARTHEST + 1) * size * size
    for some in _fitting(pod, zones, asks, sets):
        distance = _distance(zones, some)
        if distance == least:
            return _Needed(some, nearest=True)
        if distance < best:
            chosen, best = some, distance
    return None if chosen is None else _Needed(chosen, nearest=False)


def _distance(zones: Sequence[Zone], some: tuple[int, ...]) -> int:
    return sum(zones[one].costs.get(zones[other].number, _FARTHEST) for one in some for other in some)


def _fitting(
    pod: MatchedPod, zones: Sequence[Zone], asks: Amounts, sets: Sequence[tuple[int, ...]]
) -> Iterator[tuple[int, ...]]:
    """The sets of NUMA nodes that all know of each resource, and have enough together."""
    for some in sets:
        known = all(name in zones[at].available for at in some for name in asks)
        if known and all(
            suits(pod, name, amount, sum(zones[at].available[name] for at in some)) for name, amount in asks.items()
        ):
            yield some


def _left(zones: Sequence[Zone], asks: Amounts, positions: Sequence[int]) -> list[Zone]:
    """What is left on NUMA nodes when something has taken what it asks for, from one after the other."""
    left = list(zones)
    for name, amount in asks.items():
        wanted = amount
        for at in positions:
            if at < len(left) and name in left[at].available:
                taken = min(wanted, left[at].available[name])
                available = {**left[at].available, name: left[at].available[name] - taken}
                left[at] = structs.replace(left[at], available=available)
                wanted -= taken
    return left
