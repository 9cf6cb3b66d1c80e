"""Values of other objects than pods and nodes that are read where rules are evaluated: checked when the object comes in.

So they are told with the name of their object, and no rule ever meets one that it cannot read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from restow.cluster import usage_columns
from restow.cluster.amounts import LARGEST
from restow.errors import InputError, OutOfRangeError
from restow.kube.excerpts import excerpt, title
from restow.kube.labels import selector_from
from restow.kube.objects import (
    CSIStorageCapacity,
    NodeMetrics,
    PersistentVolume,
    PersistentVolumeClaim,
    PodMetrics,
    WireQuantity,
)
from restow.kube.quantity import NANO_PER_UNIT, parse_quantity

#: Path and text of a quantity.
_Amount = tuple[str, WireQuantity]


def check_values(kind: str, objects: Sequence[Any]) -> None:
    """InputError names the first object with a value that the API server would have refused.

    OutOfRangeError says which amount is beyond int64.
    """
    check = _CHECKS.get(kind)
    if check is None:
        return
    for each in objects:
        try:
            check(each)
        except ValueError as error:
            meta = each.metadata
            raise InputError(f"{title(kind, meta.namespace, meta.name)}: {error}") from error


def _check_claim(claim: PersistentVolumeClaim) -> None:
    _check_amounts(_of_claim, claim)
    selector_from(claim.spec.selector)


def _check_amounts(amounts: Callable[[Any], Iterator[_Amount]], each: Any) -> None:
    for path, text in amounts(each):
        try:
            quantity = parse_quantity(text)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        if abs(quantity.nano) > LARGEST * NANO_PER_UNIT:
            raise OutOfRangeError(f"{path} is more than {LARGEST}, the most that int64 holds")


def _of(path: str, amounts: Mapping[str, WireQuantity] | None) -> Iterator[_Amount]:
    return ((f"{path}: {excerpt(resource)}", text) for resource, text in (amounts or {}).items())


def _of_claim(claim: PersistentVolumeClaim) -> Iterator[_Amount]:
    resources = claim.spec.resources
    return _of("spec.resources.requests", resources.requests if resources else None)


def _of_volume(volume: PersistentVolume) -> Iterator[_Amount]:
    return _of("spec.capacity", volume.spec.capacity)


def _of_capacity(capacity: CSIStorageCapacity) -> Iterator[_Amount]:
    found = {"capacity": capacity.capacity, "maximumVolumeSize": capacity.maximum_volume_size}
    return ((path, text) for path, text in found.items() if text is not None)


def _of_node_usage(metrics: NodeMetrics) -> Iterator[_Amount]:
    return _of("usage", metrics.usage)


def _of_pod_usage(metrics: PodMetrics) -> Iterator[_Amount]:
    for container in metrics.containers or ():
        yield from _of(f"{container.name}: usage", container.usage)


_CHECKS: Mapping[str, Callable[[Any], object]] = {
    "PersistentVolumeClaim": _check_claim,
    "PersistentVolume": partial(_check_amounts, _of_volume),
    "CSIStorageCapacity": partial(_check_amounts, _of_capacity),
    "NodeMetrics": partial(_check_amounts, _of_node_usage),
    "PodMetrics": partial(_check_amounts, _of_pod_usage),
    usage_columns.KIND: usage_columns.unpacked,
}
