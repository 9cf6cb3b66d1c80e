"""Objects that cannot be read are left out, one by one, and nothing else is.

Anyone with a namespace may write what the API server accepts, so one object must not stop the others from being read.
If an object protects pods, its substitute protects all that it could have protected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from msgspec import structs

from restow.cluster import usage_series
from restow.cluster.amounts import LARGEST
from restow.errors import InputError, OutOfRangeError
from restow.kube.excerpts import excerpt, title
from restow.kube.labels import selector_from
from restow.kube.objects import (
    Annotations,
    CSIStorageCapacity,
    Job,
    LabelSelector,
    Namespace,
    NodeMetrics,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    PodMetrics,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceQuota,
    ResourceSlice,
    Unreadable,
    VirtualMachineInstanceMigration,
    WireQuantity,
)
from restow.kube.objects.devices import (
    CapacityRange,
    CapacityRequestPolicy,
    Counter,
    DeviceCapacity,
    ResourceClaimSpec,
)
from restow.kube.objects.workloads import JobSpec
from restow.kube.quantity import NANO_PER_UNIT, parse_quantity
from restow.kube.timestamps import nearest_time

#: (kind, namespace, name).
ObjectKey = tuple[str, str, str]

#: Objects that a note names.
_MOST_NAMED = 5
#: A namespace's annotation that cannot be read; like any value except "enabled" it keeps pods in place.
_UNREADABLE = "unknown, as the Namespace cannot be read"
_PROTECTING = {
    "Namespace": "no pod of the namespace is evicted",
    "PodDisruptionBudget": "no pod of the namespace that a budget could cover is evicted",
    "Job": "no pod of the Job is evicted",
    "VirtualMachineInstanceMigration": "no virtual machine of the namespace is evicted",
}

#: Path and text of a quantity.
_Amount = tuple[str, WireQuantity]


class Sink(Protocol):
    """Receives objects, page by page."""

    def add(self, kind: str, wire: Sequence[Any]) -> None:
        """Take a page of objects of a kind; where one cannot be read, an exception and none of them."""

    def leave_out(self, kind: str, namespace: str, name: str, why: str) -> None:
        """Skip an object."""


class UnreadableBudget(PodDisruptionBudget, frozen=True, gc=False):
    """Stands in for a budget that cannot be read: it covers all pods of its namespace and lets none of them go."""


def add_page(sink: Sink, kind: str, objects: Sequence[Any], fatal: tuple[type[Exception], ...] = ()) -> None:
    """Add a page to a sink without the objects that cannot be read; exceptions that are ``fatal`` are raised."""
    readable = [each for each in objects if not isinstance(each, Unreadable)]
    for each in objects if len(readable) < len(objects) else ():
        if isinstance(each, Unreadable):
            meta = each.metadata
            sink.leave_out(kind, meta.namespace, meta.name, f"{title(kind, meta.namespace, meta.name)}: {each.why}")
    _add(sink, kind, readable, fatal)


def _add(sink: Sink, kind: str, objects: Sequence[Any], fatal: tuple[type[Exception], ...]) -> None:
    try:
        sink.add(kind, objects)
    except fatal:
        raise
    except Exception as error:
        if len(objects) > 1:
            middle = len(objects) // 2
            _add(sink, kind, objects[:middle], fatal)
            _add(sink, kind, objects[middle:], fatal)
        elif objects:
            meta = objects[0].metadata
            sink.leave_out(kind, meta.namespace, meta.name, _reason(kind, meta, error))
        else:
            raise


def _reason(kind: str, meta: Any, error: Exception) -> str:
    if isinstance(error, InputError):
        return str(error)
    return f"{title(kind, meta.namespace, meta.name)}: {str(error) or type(error).__name__}"


def stand_in(kind: str, namespace: str, name: str) -> Any | None:
    """What counts in the place of an object that is left out: the most protective that it could be; None for no object."""
    meta = ObjectMeta(name=name, namespace=namespace)
    match kind:
        case "Namespace":
            return Namespace(ObjectMeta(name=name, annotations=Annotations(eviction=_UNREADABLE)))
        case "PodDisruptionBudget":
            budget = PodDisruptionBudget(meta)
            spec = type(budget.spec)(selector=LabelSelector(), unhealthy_pod_eviction_policy="IfHealthyBudget")
            return UnreadableBudget(meta, spec, budget.status)
        case "Job":
            return Job(meta, JobSpec(backoff_limit=0))
        case "VirtualMachineInstanceMigration":
            return VirtualMachineInstanceMigration(meta)
    return None


def sentence(kind: str, why: str) -> str:
    """That an object is left out, why, and what follows for pods that it may protect."""
    kept = f", and {_PROTECTING[kind]} until it can be read" if kind in _PROTECTING else ""
    return f"{why}; it is left out{kept}"


def left_out_notes(left_out: Mapping[ObjectKey, str]) -> tuple[str, ...]:
    """A sentence for each of the first objects that are left out, and one for the others."""
    named = tuple(sentence(key[0], why) for key, why in sorted(left_out.items())[:_MOST_NAMED])
    more = len(left_out) - len(named)
    return (*named, f"{more} more objects cannot be read; they are left out") if more > 0 else named


# So they are reported with the name of their object, and no rule meets one that it cannot read.
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


def _of_quota(quota: ResourceQuota) -> Iterator[_Amount]:
    yield from _of("status.hard", quota.status.hard)
    yield from _of("status.used", quota.status.used)


def _of_slice(slice: ResourceSlice) -> Iterator[_Amount]:
    for shared in slice.spec.shared_counters or ():
        yield from _of_counters("spec.sharedCounters", shared.counters)
    for device in slice.spec.devices or ():
        for consumed in device.consumes_counters or ():
            yield from _of_counters(f"{device.name}: consumesCounters", consumed.counters)
        for name, capacity in (device.capacity or {}).items():
            yield from _of_capacity_of_device(f"{device.name}: capacity: {excerpt(name)}", capacity)


def _of_counters(path: str, counters: Mapping[str, Counter] | None) -> Iterator[_Amount]:
    return ((f"{path}: {excerpt(name)}", counter.value) for name, counter in (counters or {}).items())


def _of_capacity_of_device(path: str, capacity: DeviceCapacity) -> Iterator[_Amount]:
    policy = capacity.request_policy or CapacityRequestPolicy()
    permitted = policy.valid_range or CapacityRange()
    amounts = (capacity.value, policy.default, *(policy.valid_values or ()), *structs.astuple(permitted))
    return ((path, text) for text in amounts if text is not None)


def _of_device_claim(claim: ResourceClaim) -> Iterator[_Amount]:
    yield from _of_requests("spec", claim.spec)
    allocation = claim.status.allocation
    for each in (allocation.devices.results or ()) if allocation else ():
        yield from _of("status.allocation", each.consumed_capacity)


def _of_claim_template(template: ResourceClaimTemplate) -> Iterator[_Amount]:
    return _of_requests("spec.spec", template.spec.spec)


def _of_requests(path: str, spec: ResourceClaimSpec) -> Iterator[_Amount]:
    for request in spec.devices.requests or ():
        for each in (request.exactly, *(request.first_available or ())):
            if each is not None and each.capacity is not None:
                yield from _of(f"{path}.devices.requests: {request.name}", each.capacity.requests)


def _check_times(migration: VirtualMachineInstanceMigration) -> None:
    state = migration.status.migration_state
    for name, text in (
        (("startTimestamp", state.start_timestamp), ("endTimestamp", state.end_timestamp)) if state else ()
    ):
        try:
            nearest_time(text) if text is not None else None
        except ValueError as error:
            raise ValueError(f"status.migrationState.{name}: {error}") from error


def _of_node_usage(metrics: NodeMetrics) -> Iterator[_Amount]:
    return _of("usage", metrics.usage)


def _of_pod_usage(metrics: PodMetrics) -> Iterator[_Amount]:
    for container in metrics.containers or ():
        yield from _of(f"{container.name}: usage", container.usage)


_CHECKS: Mapping[str, Callable[[Any], object]] = {
    "PersistentVolumeClaim": _check_claim,
    "PersistentVolume": partial(_check_amounts, _of_volume),
    "CSIStorageCapacity": partial(_check_amounts, _of_capacity),
    "ResourceQuota": partial(_check_amounts, _of_quota),
    "ResourceSlice": partial(_check_amounts, _of_slice),
    "ResourceClaim": partial(_check_amounts, _of_device_claim),
    "ResourceClaimTemplate": partial(_check_amounts, _of_claim_template),
    "VirtualMachineInstanceMigration": _check_times,
    "NodeMetrics": partial(_check_amounts, _of_node_usage),
    "PodMetrics": partial(_check_amounts, _of_pod_usage),
    usage_series.KIND: usage_series.unpacked,
}
