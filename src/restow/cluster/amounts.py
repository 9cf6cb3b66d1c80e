"""Resource amounts as integers: CPU in milli, everything else in whole units, rounded up.

Kubernetes sums exact quantities and rounds the sum; restow rounds each pod. The two differ only for amounts finer than
a milli-CPU or a byte, and the API server rounds CPU up to whole millis when a pod is created.
"""

from __future__ import annotations

from collections.abc import Mapping

from restow.kube.objects import WireQuantity
from restow.kube.quantity import Quantity
from restow.kube.requests import parse_resources

#: A larger amount than any machine has, and small enough that the sum over a thousand pods of a node fits in int64.
LARGEST = 1 << 53


def amount(resource: str, quantity: Quantity) -> int:
    """A quantity in the resource's unit; ValueError for a negative or absurd one."""
    units = quantity.milli_value() if resource == "cpu" else quantity.value()
    if units < 0:
        raise ValueError(f"{resource} is {quantity}, but an amount cannot be negative")
    if units > LARGEST:
        raise ValueError(f"{resource} is {quantity}, more than any node can have")
    return units


def amounts(quantities: Mapping[str, Quantity]) -> dict[str, int]:
    """Each quantity in its resource's unit."""
    return {resource: amount(resource, quantity) for resource, quantity in quantities.items()}


def parse_amounts(wire: Mapping[str, WireQuantity]) -> dict[str, int]:
    """Amounts from the API's texts; ValueError names the resource."""
    return amounts(parse_resources(wire))
