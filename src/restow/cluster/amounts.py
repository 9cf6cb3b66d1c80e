"""Resource amounts as integers: CPU in milli, everything else in whole units, rounded up.

Kubernetes sums exact quantities and rounds the sum; restow rounds each pod. The two differ only for amounts finer than
a milli-CPU or a byte, and the API server rounds CPU up to whole millis when a pod is created. Amounts are int64, as in
kube-scheduler. Where its sums would wrap around, restow's stay at the largest int64: a node is full, never empty again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from restow.errors import OutOfRangeError
from restow.kube.excerpts import excerpt
from restow.kube.objects import WireQuantity
from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT, Quantity
from restow.kube.requests import parse_resources

#: The largest amount.
LARGEST = 2**63 - 1


def amount(resource: str, quantity: Quantity) -> int:
    """A quantity in the resource's unit; ValueError for a negative one, OutOfRangeError beyond int64."""
    units = _units(resource, quantity)
    if units < 0:
        raise ValueError(f"{excerpt(resource)} is {quantity}, but an amount cannot be negative")
    if units > LARGEST:
        raise OutOfRangeError(f"{excerpt(resource)} is more than {_limit(resource)}, the most that int64 holds")
    return units


def amounts(quantities: Mapping[str, Quantity]) -> dict[str, int]:
    """Each quantity in its resource's unit."""
    return {resource: amount(resource, quantity) for resource, quantity in quantities.items()}


def capped_amounts(quantities: Mapping[str, Quantity]) -> dict[str, int]:
    """Amounts that only count in scores; one that is out of range becomes the nearest that is not."""
    return {resource: max(0, min(_units(resource, quantity), LARGEST)) for resource, quantity in quantities.items()}


def parse_amounts(wire: Mapping[str, WireQuantity]) -> dict[str, int]:
    """Amounts from the API's texts; ValueError names the resource."""
    return amounts(parse_resources(wire))


def capped_sum(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The sums of amounts that are not negative, the largest amount where a sum is larger."""
    total: npt.NDArray[np.int64] = one + np.minimum(other, LARGEST - one)
    return total


def percent_of(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """``part`` in whole percent of ``whole``, rounded down, where neither is negative and ``part`` is the smaller."""
    if part.max(initial=0) > LARGEST // 100:
        # Python's integers do not overflow; they are slow, and needed by no machine that there is.
        part = part.astype(object)
    percent: npt.NDArray[np.int64] = (part * 100 // np.maximum(whole, 1)).astype(np.int64)
    return percent


def _units(resource: str, quantity: Quantity) -> int:
    """Rounded away from zero."""
    step = NANO_PER_MILLI if resource == "cpu" else NANO_PER_UNIT
    units = -(-abs(quantity.nano) // step)
    return units if quantity.nano >= 0 else -units


def _limit(resource: str) -> str:
    return f"{LARGEST}m" if resource == "cpu" else str(LARGEST)
