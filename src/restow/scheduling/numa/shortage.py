"""Why no choice of NUMA nodes has what a pod asks for, in words: for a kubelet, and for NodeResourceTopologyMatch."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT, amount
from restow.scheduling.numa.admission import choices, least_numa_nodes, numa_node_sets
from restow.scheduling.numa.amounts import Amounts
from restow.scheduling.numa.matching import MatchedPod, MatchedTopology, Zone, is_counted, unplaced
from restow.scheduling.numa.needs import CPU, Part
from restow.scheduling.numa.topology import NumaTopology, TopologyPolicy


def shortage(topology: NumaTopology, free: Sequence[Amounts], parts: Sequence[Part]) -> str:
    """A clause for people about the first part that is not taken, with so much free on each NUMA node."""
    short = next((each.asks for each in parts if not choices(topology, free, each.asks)), None)
    if short is None:
        return "its containers one after the other find no NUMA node with enough free"
    wanted = f"it wants {_listed(short)} aligned"
    size = least_numa_nodes(topology, short)
    if size == 0:
        return f"{wanted}, which its NUMA nodes cannot give even when nothing else is there"
    if size > 1 and topology.policy is TopologyPolicy.SINGLE:
        return f"{wanted}, which takes {size} NUMA nodes, and {topology.policy} allows one"
    numa_nodes, none_of_them = ("one NUMA node", "none") if size == 1 else (f"{size} NUMA nodes", f"no {size} of them")
    has = "has" if size == 1 else "have"
    lacking = next(_lacking(free, size, short), None)
    more = "all of that free" if lacking is None else f"more than {lacking} free"
    return f"it wants {_listed(short)} of {numa_nodes}, and {none_of_them} {has} {more}"


def _lacking(free: Sequence[Amounts], size: int, asks: Amounts) -> Iterator[str]:
    """The most that so many NUMA nodes have of a resource, where that is less than is asked for."""
    for name, wanted in asks.items():
        most = max(sum(free[each].get(name, 0) for each in some) for some in numa_node_sets(len(free), size))
        if most < wanted:
            yield _amount(name, most)


def _listed(asks: Mapping[str, int]) -> str:
    return " and ".join(_amount(name, value) for name, value in asks.items())


def _amount(name: str, value: int) -> str:
    if name == CPU:
        return f"{value:,} CPU{'s' * (value != 1)}"
    return f"{amount(name, value)} {name}"


def shortage_seen(topology: MatchedTopology, listed: Collection[str], pod: MatchedPod) -> str:
    """A clause for people about what a pod lacks that NodeResourceTopologyMatch refuses; empty if it does not."""
    found = unplaced(topology, listed, pod)
    if found is None:
        return ""
    missing = next((name for name, asked in found.asks.items() if asked and name not in listed), None)
    if missing is not None:
        return f"the node has no {missing}"
    asks = {name: asked for name, asked in found.asks.items() if asked and is_counted(pod, name)}
    return "; ".join([f"it wants {_exactly(asks)} of one NUMA node", *(_has(each, asks) for each in found.zones)])


def _has(zone: Zone, asks: Amounts) -> str:
    """What a NUMA node has of a resource that it has too little of."""
    has = {name: zone.available.get(name, 0) for name in asks}
    short = {name: available for name, available in has.items() if available < asks[name]}
    return f"node-{zone.number} has {_exactly(short) if short else 'enough'}"


def _exactly(billionths: Amounts) -> str:
    """Amounts that may be parts of a CPU."""
    return " and ".join(
        f"{amount(CPU, nano // NANO_PER_MILLI)} CPU"
        if name == CPU and nano % NANO_PER_UNIT
        else _amount(name, nano // NANO_PER_UNIT)
        for name, nano in sorted(billionths.items())
    )
