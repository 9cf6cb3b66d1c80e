"""What a pod asks of a node, from what its containers ask.

Init containers run before the others, one after another, except sidecars (restartPolicy Always), which keep running:
the pod needs the larger of what runs at the end and of each step on the way. Requests of the pod itself replace the
result, and its overhead is added. Source: ``PodRequests``, component-helpers ``resource``, Kubernetes 1.36, with its
default options: neither statuses nor claims of resources count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from restow.kube.excerpts import excerpt
from restow.kube.quantity import Quantity, parse_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from restow.kube.objects import ResourceRequirements, WireQuantity

_POD_LEVEL_RESOURCES = frozenset({"cpu", "memory"})
_HUGE_PAGES = "hugepages-"

QosClass = Literal["BestEffort", "Burstable", "Guaranteed"]

#: In the order in which pods are evicted.
QOS_CLASSES: tuple[QosClass, ...] = ("BestEffort", "Burstable", "Guaranteed")

_RESOURCES = frozenset({"cpu", "memory"})


class ContainerRequests(Struct, frozen=True):
    """``resources.requests`` of one container."""

    requests: Mapping[str, WireQuantity]
    #: An init container with restartPolicy Always.
    sidecar: bool = False


def pod_requests(
    containers: Iterable[ContainerRequests],
    init_containers: Iterable[ContainerRequests],
    pod_level: Mapping[str, WireQuantity],
    overhead: Mapping[str, WireQuantity],
) -> dict[str, Quantity]:
    """Return the effective request of a pod for each resource that some part names, zero included.

    ValueError names the resource whose text is no quantity.
    """
    running: dict[str, Quantity] = {}
    for container in containers:
        _add(running, parse_resources(container.requests))
    total = _with_init_containers(running, init_containers)
    for resource, quantity in parse_resources(pod_level).items():
        if resource in _POD_LEVEL_RESOURCES or resource.startswith(_HUGE_PAGES):
            total[resource] = quantity
    _add(total, parse_resources(overhead))
    return total


def parse_resources(wire: Mapping[str, WireQuantity]) -> dict[str, Quantity]:
    """Exact quantities by resource; ValueError names the resource whose text is no quantity."""
    return {resource: _parse(resource, text) for resource, text in wire.items()}


def _parse(resource: str, text: WireQuantity) -> Quantity:
    try:
        return parse_quantity(text)
    except ValueError as error:
        raise ValueError(f"{excerpt(resource)}: {error}") from error


def _with_init_containers(
    running: dict[str, Quantity], init_containers: Iterable[ContainerRequests]
) -> dict[str, Quantity]:
    """Return the larger of all that runs at the end (``running`` and the sidecars) and of every step before."""
    sidecars: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in init_containers:
        own = parse_resources(container.requests)
        if container.sidecar:
            _add(running, own)
            _add(sidecars, own)
            step = sidecars
        else:
            step = own
            _add(step, sidecars)
        _raise_to(peak, step)
    _raise_to(running, peak)
    return running


def _add(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    for resource, quantity in more.items():
        known = total.get(resource)
        total[resource] = quantity if known is None else known + quantity


def _raise_to(total: dict[str, Quantity], floor: Mapping[str, Quantity]) -> None:
    for resource, quantity in floor.items():
        known = total.get(resource)
        if known is None or quantity > known:
            total[resource] = quantity


# Used if the pod's status does not name the class. Source: ``GetPodQOS``, Descheduler 0.36: unlike the API server it
# takes init containers as they are written, does not let limits stand in for requests, and ignores resources of the pod
# itself.
def qos_class(containers: Iterable[ResourceRequirements]) -> QosClass:
    """Return the class of a pod with these containers, init containers among them.

    Guaranteed needs positive limits of cpu and memory in every container and requests that sum to the same. ValueError
    names the resource whose text is no quantity.
    """
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    all_limited = True
    for container in containers:
        _add(requests, _positive(container.requests))
        limited = _positive(container.limits)
        _add(limits, limited)
        all_limited = all_limited and limited.keys() == _RESOURCES
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if all_limited and requests == limits else "Burstable"


def _positive(wire: Mapping[str, WireQuantity] | None) -> dict[str, Quantity]:
    counted = {name: text for name, text in (wire or {}).items() if name in _RESOURCES}
    return {name: quantity for name, quantity in parse_resources(counted).items() if quantity.nano > 0}
