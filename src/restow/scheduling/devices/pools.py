"""The pools of devices that one node can reach, out of all ResourceSlices.

A driver publishes a pool in slices, and replaces all of them with a higher generation. Only the newest counts; a pool of
which not all slices are there yet gives nothing. Slices count for a node by its name or labels, devices with a choice of
their own by theirs; what shares counters with a device counts wherever it is. First fit goes through pools by driver and
name, and through slices by name; pools with devices that are prepared after binding come last. Source: GatherPools,
k8s.io/dynamic-resource-allocation 0.36 and 0.37.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from restow.kube.node_selection import NodeSelection
from restow.kube.objects.devices import (
    Device,
    DeviceTaintRule,
    DeviceTaintSelector,
    ResourceSlice,
    ResourceSliceSpec,
)
from restow.kube.quantity import parse_quantity
from restow.scheduling.devices.rules import DeviceRules
from restow.scheduling.framework.extension_points import CycleError


class DeviceId(NamedTuple):
    """Which device."""

    driver: str
    pool: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


class PoolId(NamedTuple):
    """Which pool."""

    driver: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


#: Amounts in nano-units, by counter set and counter.
Counters = Mapping[str, Mapping[str, int]]


@dataclass(slots=True, frozen=True, eq=False)
class PooledDevice:
    """A device with what its slice says of it."""

    id: DeviceId
    wire: Device
    slice: ResourceSlice
    #: What it takes of the counters of its pool.
    consumes: Counters


@dataclass(slots=True, frozen=True, eq=False)
class Pool:
    """A pool as one node sees it."""

    id: PoolId
    is_incomplete: bool = False
    #: Whether slices of it are out of the node's reach.
    is_partial: bool = False
    is_invalid: bool = False
    #: Those that the node can reach, as far as slices say it, in the order in which they are tried.
    devices: Sequence[PooledDevice] = ()
    #: All that share its counters, on any node.
    counted: Sequence[PooledDevice] = ()
    counters: Counters | None = None

    @property
    def is_usable(self) -> bool:
        """Whether devices can be taken from it."""
        return not (self.is_incomplete or self.is_invalid)


class Inventory:
    """All slices, and what each node can reach of them."""

    def __init__(
        self, slices: Iterable[ResourceSlice], rules: DeviceRules, taint_rules: Iterable[DeviceTaintRule] = ()
    ) -> None:
        self._rules = rules
        self._taint_rules = [each.spec for each in taint_rules] if rules.by_taint_rules else []
        self._by_pool: dict[PoolId, list[ResourceSlice]] = defaultdict(list)
        self._on_node: dict[str, list[ResourceSlice]] = defaultdict(list)
        self._shared: list[ResourceSlice] = []
        for each in slices:
            self._by_pool[pool_of(each)].append(each)
            if each.spec.node_name and not each.spec.shared_counters:
                self._on_node[each.spec.node_name].append(each)
            else:
                self._shared.append(each)
        self._devices: dict[int, tuple[ResourceSlice, list[PooledDevice]]] = {}

    def node_of(self, pool: PoolId) -> str | None:
        """The only node that reaches a pool; None if others may."""
        names = {each.spec.node_name or None for each in self._by_pool.get(pool, ())}
        return names.pop() if len(names) == 1 else None

    def pools(self, node: str, labels: Mapping[str, str]) -> list[Pool]:
        """The pools of a node; CycleError if a selector of a slice cannot be read."""
        found: dict[PoolId, list[ResourceSlice]] = {}
        for each in (*self._on_node.get(node, ()), *self._shared):
            if self._is_relevant(each, node, labels):
                _add(found, each)
        pools = [pool for which, slices in found.items() if (pool := self._pool(which, slices)) is not None]
        return sorted(pools, key=lambda pool: (_is_prepared_late(pool), pool.id))

    def _pool(self, id: PoolId, slices: list[ResourceSlice]) -> Pool | None:
        """A pool with these slices of the newest generation that the node sees; None if there is a newer one elsewhere."""
        wanted, generation = slices[0].spec.pool.resource_slice_count, slices[0].spec.pool.generation
        everywhere = self._by_pool[id]
        if len(slices) != wanted:
            if any(each.spec.pool.generation > generation for each in everywhere):
                return None if self._rules.passes_over_pools else Pool(id, is_incomplete=True)
            everywhere = [each for each in everywhere if each.spec.pool.generation == generation]
            if len(everywhere) != wanted:
                return Pool(id, is_incomplete=True)
        else:
            everywhere = slices
        return self._built(id, sorted(slices, key=lambda each: each.metadata.name), everywhere)

    def _built(self, id: PoolId, slices: list[ResourceSlice], everywhere: Sequence[ResourceSlice]) -> Pool:
        devices = [device for each in slices for device in self._devices_of(each)]
        names = {each.metadata.name for each in slices}
        others = [each for each in everywhere if each.metadata.name not in names]
        counted = [*devices, *(device for each in others for device in self._devices_of(each))]
        counters = _counters(everywhere)
        is_unique = max(Tally(each.id for each in devices).values(), default=0) <= 1
        if counters is None or not is_unique or any(_lacks(counters, each.consumes) for each in counted):
            return Pool(id, is_invalid=True)
        return Pool(id, is_partial=len(others) > 0, devices=devices, counted=counted, counters=counters)

    def _is_relevant(self, slice: ResourceSlice, node: str, labels: Mapping[str, str]) -> bool:
        spec = slice.spec
        if spec.shared_counters and not self._rules.counters_by_node:
            return True
        if not spec.per_device_node_selection:
            return is_in_reach(spec, node, labels)
        return any(is_in_reach(each, node, labels) for each in spec.devices or ())

    def _devices_of(self, slice: ResourceSlice) -> list[PooledDevice]:
        """The devices of a slice; the same objects each time, for what is remembered of them."""
        known = self._devices.get(id(slice))
        if known is None:
            driver, pool = pool_of(slice)
            devices = () if slice.spec.shared_counters else slice.spec.devices or ()
            made = [self._pooled(DeviceId(driver, pool, each.name), each, slice) for each in devices]
            # With the slice, so that no other one gets its identity.
            known = self._devices[id(slice)] = slice, made
        return known[1]

    def _pooled(self, id: DeviceId, device: Device, slice: ResourceSlice) -> PooledDevice:
        more = tuple(each.taint for each in self._taint_rules if _is_for(each.device_selector, id))
        tainted = replace(device, taints=(*(device.taints or ()), *more)) if more else device
        return PooledDevice(id, tainted, slice, _consumed(device))


def _is_for(selector: DeviceTaintSelector | None, id: DeviceId) -> bool:
    """Whether a rule that gives devices a taint is for a device. Source: the tracker of slices, Kubernetes 1.37."""
    if selector is None:
        return False
    wanted = selector.driver, selector.pool, selector.device
    return all(each is None or each == has for each, has in zip(wanted, id, strict=True))


def pool_of(slice: ResourceSlice) -> PoolId:
    """The pool of a slice."""
    return PoolId(slice.spec.driver, slice.spec.pool.name)


def is_in_reach(place: ResourceSliceSpec | Device, node: str, labels: Mapping[str, str]) -> bool:
    """Whether a node is meant by a name, by all nodes, or by a selector; CycleError if that cannot be read."""
    if place.node_name:
        return place.node_name == node
    if place.all_nodes or place.node_selector is None:
        return place.all_nodes
    try:
        return NodeSelection.compile(None, place.node_selector).matches(node, labels)
    except ValueError as error:
        raise CycleError(f"gather pool information: {error}") from error


def _add(pools: dict[PoolId, list[ResourceSlice]], slice: ResourceSlice) -> None:
    """Add a slice to its pool; a newer generation replaces all older ones."""
    known = pools.setdefault(pool_of(slice), [])
    generation = slice.spec.pool.generation
    if known and generation > known[0].spec.pool.generation:
        known.clear()
    if not known or generation == known[0].spec.pool.generation:
        known.append(slice)


def _counters(slices: Iterable[ResourceSlice]) -> Counters | None:
    """The counters that slices offer; None if two sets have one name."""
    found: dict[str, dict[str, int]] = {}
    for each in slices:
        for counter_set in each.spec.shared_counters or ():
            if counter_set.name in found:
                return None
            counters = (counter_set.counters or {}).items()
            found[counter_set.name] = {name: parse_quantity(counter.value).nano for name, counter in counters}
    return found


def _consumed(device: Device) -> Counters:
    return {
        each.counter_set: {name: parse_quantity(counter.value).nano for name, counter in (each.counters or {}).items()}
        for each in device.consumes_counters or ()
    }


def _lacks(offered: Counters, consumed: Counters) -> bool:
    return any(
        counters.keys() - offered.get(name, {}).keys() or name not in offered for name, counters in consumed.items()
    )


def _is_prepared_late(pool: Pool) -> bool:
    return any(each.wire.binding_conditions is not None for each in pool.devices)
