"""Whether a kubelet takes a pod: the topology manager's answer for what its containers ask for.

Each resource has a *least* number of NUMA nodes: so many as an empty machine needs for the request. A kubelet that enforces
alignment takes the pod if all resources of a part have the same least number (``single-numa-node``: one), and so many NUMA
nodes have enough of each; of several choices it takes the one with the lowest numbers. The next container sees what is
left. What an init container has goes over to those that come after it, and they may use no NUMA node without it. Source:
topology manager, CPU, memory and device manager, Kubernetes 1.36, with their default options.

What the NUMA nodes have is known as bounds, since it is not seen on which one a pod got its CPUs that came meanwhile, or
leaves room behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from restow.scheduling.numa.amounts import Amounts, added, holds, without
from restow.scheduling.numa.needs import Part, is_memory
from restow.scheduling.numa.topology import NumaTopology, TopologyPolicy, TopologyScope


class Admission(Enum):
    """What is known of the kubelet's answer."""

    TAKEN = "taken"
    OPEN = "open"
    REFUSED = "refused"


class FreeAmounts(NamedTuple):
    """What each NUMA node has at least, and at most."""

    least: tuple[Amounts, ...]
    most: tuple[Amounts, ...]

    @property
    def is_exact(self) -> bool:
        """Whether the bounds are the same."""
        return self.least == self.most


def admission(topology: NumaTopology, free: FreeAmounts, parts: Sequence[Part]) -> Admission:
    """Whether a kubelet takes a pod with these parts; each asks only for what some NUMA node has."""
    if any(each.gets_more for each in parts):
        return Admission.OPEN
    short = next((each for each in parts if not choices(topology, free.most, each.asks)), None)
    if short is not None:
        return Admission.OPEN if _is_forgiven(topology, free, short) else Admission.REFUSED
    if topology.policy is TopologyPolicy.RESTRICTED and _is_open(topology, parts):
        return Admission.OPEN
    if len(parts) == 1:
        fits = bool(choices(topology, free.least, parts[0].asks))
        return Admission.TAKEN if fits else Admission.OPEN
    if free.is_exact:
        return _in_turn(topology, free.least, parts)
    return Admission.TAKEN if _fits_anyhow(free, parts) else Admission.OPEN


def _is_forgiven(topology: NumaTopology, free: FreeAmounts, part: Part) -> bool:
    """Whether a pod that lacks nothing but memory may be taken: its containers may find it one by one.

    Where no NUMA nodes have enough for all of a pod, the memory manager says that it has no preference.
    """
    others = {name: amount for name, amount in part.asks.items() if not is_memory(name)}
    return topology.scope is TopologyScope.POD and bool(not others or choices(topology, free.most, others))


def least_numa_nodes(topology: NumaTopology, asks: Amounts) -> int:
    """How many NUMA nodes a request needs on an empty machine; 0 if its resources need different numbers, or have too few.

    Only a request with one number can be aligned.
    """
    memory = {name: amount for name, amount in asks.items() if is_memory(name)}
    groups = [{name: amount} for name, amount in asks.items() if not is_memory(name)] + ([memory] if memory else [])
    numbers = {_least_of(topology, group) for group in groups}
    return numbers.pop() if len(numbers) == 1 else 0


def _least_of(topology: NumaTopology, group: Amounts) -> int:
    sizes = [each.allocatable if any(map(is_memory, group)) else each.capacity for each in topology.numa_nodes]
    counts = range(1, len(sizes) + 1)
    return next(
        (count for count in counts if any(_have(sizes, some, group) for some in numa_node_sets(len(sizes), count))), 0
    )


def choices(topology: NumaTopology, free: Sequence[Amounts], asks: Amounts) -> list[tuple[int, ...]]:
    """The sets of NUMA nodes that a part may get its resources from, the kubelet's choice first."""
    size = least_numa_nodes(topology, asks)
    if size == 0 or (topology.policy is TopologyPolicy.SINGLE and size > 1):
        return []
    return [some for some in numa_node_sets(len(free), size) if _have(free, some, asks)]


def spans_memory(topology: NumaTopology, parts: Sequence[Part]) -> bool:
    """Whether a part has memory of several NUMA nodes.

    They are a group then, from which no other part gets memory of one of them. Which ones these are is not known.
    """
    return any(least_numa_nodes(topology, each.asks) > 1 and any(map(is_memory, each.asks)) for each in parts)


def _is_open(topology: NumaTopology, parts: Sequence[Part]) -> bool:
    """Whether more is needed than is known: groups of memory, or the share of each of several NUMA nodes."""
    several = len(parts) > 1 and any(least_numa_nodes(topology, each.asks) > 1 for each in parts)
    return several or spans_memory(topology, parts)


def _in_turn(topology: NumaTopology, free: Sequence[Amounts], parts: Sequence[Part]) -> Admission:
    """What becomes of parts that each need one NUMA node, one after the other."""
    left = list(free)
    for at, part in enumerate(parts):
        possible = choices(topology, left, part.asks)
        if not possible:
            return Admission.REFUSED
        (chosen,) = possible[0]
        if part.ends:
            return _after_init(left[chosen], parts[at + 1 :], part)
        left[chosen] = without(left[chosen], part.asks)
    return Admission.TAKEN


def _after_init(free: Amounts, parts: Sequence[Part], ended: Part) -> Admission:
    """What becomes of the parts after an init container that has its resources from the NUMA node with so much free.

    The first of them may use no other one. Those after it may, once nothing of the init container's is left, which depends
    on which of the CPUs each one got. Memory of an init container binds no others.
    """
    if _all_fit(free, parts):
        return Admission.TAKEN
    shared = parts[0].asks.keys() & ended.asks.keys()
    is_bound = not all(map(is_memory, shared))
    return Admission.REFUSED if is_bound and not holds(free, parts[0].asks) else Admission.OPEN


def _fits_anyhow(free: FreeAmounts, parts: Sequence[Part]) -> bool:
    """Whether some NUMA node has enough for all parts, whatever the kubelet chooses for each.

    An init container binds those after it to its choice, so every one that it could get has to be such a NUMA node.
    """
    enough = [_all_fit(least, parts) for least in free.least]
    first = next((each for each in parts if each.ends), None)
    if first is None:
        return any(enough)
    could = [holds(most, first.asks) for most in free.most]
    return all(fits for fits, chosen in zip(enough, could, strict=True) if chosen)


def _all_fit(free: Amounts, parts: Sequence[Part]) -> bool:
    """Whether one NUMA node has enough for all parts in turn."""
    staying: dict[str, int] = {}
    for each in parts:
        if not holds(free, added(staying, each.asks)):
            return False
        if not each.ends:
            staying = added(staying, each.asks)
    return True


@lru_cache(maxsize=64)
def numa_node_sets(count: int, size: int) -> tuple[tuple[int, ...], ...]:
    """All sets of ``size`` out of ``count`` NUMA nodes, those with low numbers first."""
    return tuple(sorted(combinations(range(count), size), key=lambda some: sum(1 << each for each in some)))


def _have(amounts: Sequence[Amounts], some: tuple[int, ...], asks: Amounts) -> bool:
    return all(sum(amounts[each].get(name, 0) for each in some) >= amount for name, amount in asks.items())
