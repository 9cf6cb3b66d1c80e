"""The quality of service class that a pod's containers imply.

Used where the pod's status does not tell the class. Source: ``GetPodQOS``, Descheduler 0.36: unlike the API server it
takes init containers as they are written, does not let limits stand in for requests, and ignores resources of the pod
itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from restow.kube.requests import parse_resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from restow.kube.objects import ResourceRequirements, WireQuantity
    from restow.kube.quantity import Quantity

QosClass = Literal["BestEffort", "Burstable", "Guaranteed"]

#: In the order in which pods are evicted.
QOS_CLASSES: tuple[QosClass, ...] = ("BestEffort", "Burstable", "Guaranteed")

_RESOURCES = frozenset({"cpu", "memory"})


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


def _add(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    for name, quantity in more.items():
        total[name] = total[name] + quantity if name in total else quantity
