"""What the containers of a pod ask for that a kubelet aligns with NUMA nodes.

Of a Guaranteed pod that is whole CPUs (static CPU manager) and memory and huge pages (static memory manager), of any pod
its devices (device manager). In scope ``pod`` all that runs at one time is aligned together. Resources of the pod itself
take a pod out of the hands of the CPU and the memory manager, unless a gate is set that is off by default. Source:
GetTopologyHints and GetPodTopologyHints of the three, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from restow.cluster.pod_parts import Requests, decode_requests
from restow.cluster.pod_values import ContainerResources
from restow.kube.quantity import NANO_PER_UNIT, Quantity
from restow.kube.requests import QOS_CLASSES, ContainerRequests, parse_resources, pod_requests
from restow.scheduling.numa.amounts import Amounts, added
from restow.scheduling.numa.topology import TopologyScope

CPU: Final = "cpu"
#: The QoS class, by number, whose pods may have CPUs of their own.
GUARANTEED: Final = QOS_CLASSES.index("Guaranteed")
_HUGE_PAGES: Final = "hugepages-"


class Part(NamedTuple):
    """What is aligned together: a container in scope ``container``, otherwise a pod."""

    asks: Amounts
    #: Whether it ends before others begin, and leaves them what it has: an init container that is no sidecar.
    ends: bool = False
    #: Whether it also gets what no choice of NUMA nodes looked at: memory that only init containers of a pod ask for.
    gets_more: bool = False


def is_memory(resource: str) -> bool:
    """Whether the memory manager has a resource: memory, and huge pages of any size."""
    return resource == "memory" or resource.startswith(_HUGE_PAGES)


def parts_of(resources: ContainerResources, scope: TopologyScope, aligned: frozenset[str]) -> tuple[Part, ...]:
    """The parts of a pod that ask for something of these resources, in the order in which they get it."""
    requests = decode_requests(resources.key)
    seen = _Seen(aligned, guaranteed=resources.qos == GUARANTEED and not requests.pod_level)
    init = [(seen.of(each), sidecar) for each, sidecar in requests.init]
    regular = [seen.of(each) for each in requests.regular]
    if scope is TopologyScope.CONTAINER:
        parts = [Part(_whole(each), not sidecar) for each, sidecar in init] + [Part(_whole(each)) for each in regular]
    else:
        more = {name for each, _ in init for name in each}.difference(*regular)
        parts = [Part(_at_one_time(regular, init), gets_more=any(map(is_memory, more)))]
    return tuple(each for each in parts if each.asks)


def total_of(parts: Iterable[Part]) -> dict[str, int]:
    """What parts ask for at the end, when all that end have ended."""
    total: dict[str, int] = {}
    for each in parts:
        if not each.ends:
            total = added(total, each.asks)
    return total


class _Seen(NamedTuple):
    """Which requests are aligned."""

    aligned: frozenset[str]
    guaranteed: bool

    def of(self, requests: Requests) -> Requests:
        return {name: wire for name, wire in requests.items() if name in self.aligned and self._counts(name, requests)}

    def _counts(self, name: str, requests: Requests) -> bool:
        if name == CPU:
            return self.guaranteed and _is_whole(parse_resources({CPU: requests[CPU]})[CPU])
        return self.guaranteed or not is_memory(name)


def _is_whole(quantity: Quantity) -> bool:
    return quantity.nano % NANO_PER_UNIT == 0


def _whole(requests: Requests) -> dict[str, int]:
    return _positive(parse_resources(requests))


def _at_one_time(regular: Sequence[Requests], init: Sequence[tuple[Requests, bool]]) -> dict[str, int]:
    init_containers = [ContainerRequests(each, sidecar=sidecar) for each, sidecar in init]
    return _positive(pod_requests(map(ContainerRequests, regular), init_containers, {}, {}))


def _positive(quantities: Mapping[str, Quantity]) -> dict[str, int]:
    return {name: each.value() for name, each in quantities.items() if each.nano > 0}
