"""What a claim has: its devices, what nobody else can have because of them, and the nodes where they can be used.

It stands in the status of a claim, or follows from what was found on a node. Source: createNodeSelector,
k8s.io/dynamic-resource-allocation 0.36, and allocated devices of DynamicResources, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from restow.kube.node_selection import NAME_FIELD, NodeSelection
from restow.kube.objects import LabelSelectorRequirement, NodeSelector, NodeSelectorTerm
from restow.kube.objects.devices import AllocatedDevice, AllocatedDeviceStatus, ResourceClaimStatus
from restow.scheduling.devices.allocation import Allocated
from restow.scheduling.devices.capacity import nano
from restow.scheduling.devices.holdings import Holding
from restow.scheduling.devices.pools import DeviceId


class HeldDevice(NamedTuple):
    """A device that a claim has."""

    #: ``request``, or ``request/alternative``.
    request: str
    device: DeviceId


class Readiness(Enum):
    """How far drivers are with the devices of a claim that they prepare once a node is chosen."""

    READY = "ready"
    WAITED_FOR = "waited for"
    FAILED = "failed"


class Allocation(NamedTuple):
    """What a claim has, and on which nodes."""

    devices: tuple[HeldDevice, ...]
    #: What nobody else can have because of it.
    holdings: tuple[Holding, ...]
    #: None is everywhere.
    nodes: NodeSelection | None
    readiness: Readiness = Readiness.READY


def in_status(status: ResourceClaimStatus) -> Allocation | None:
    """What the status of a claim says."""
    if status.allocation is None:
        return None
    results = status.allocation.devices.results or ()
    devices = tuple(HeldDevice(each.request, DeviceId(each.driver, each.pool, each.device)) for each in results)
    holdings = tuple(
        Holding(
            held.device,
            None
            if each.share_id is None
            else {name: nano(text) for name, text in (each.consumed_capacity or {}).items()},
        )
        for each, held in zip(results, devices, strict=True)
        if not each.admin_access
    )
    selector = status.allocation.node_selector
    nodes = None if selector is None else NodeSelection.compile(None, selector)
    return Allocation(devices, holdings, nodes, _readiness(results, status.devices or ()))


def _readiness(results: Iterable[AllocatedDevice], told: Iterable[AllocatedDeviceStatus]) -> Readiness:
    """Whether all devices are prepared: the first that is not, or has failed, decides. Source: isClaimReadyForBinding."""
    conditions: dict[DeviceId, set[str]] = {}
    for said in told:
        true = {each.type for each in said.conditions or () if each.status == "True"}
        conditions.setdefault(DeviceId(said.driver, said.pool, said.device), true)
    for each in results:
        if each.binding_conditions:
            true = conditions.get(DeviceId(each.driver, each.pool, each.device), set())
            if not true.isdisjoint(each.binding_failure_conditions or ()):
                return Readiness.FAILED
            if not true.issuperset(each.binding_conditions):
                return Readiness.WAITED_FOR
    return Readiness.READY


def on_node(got: Iterable[Allocated], node: str) -> Allocation:
    """What a claim has that got devices on a node."""
    devices = list(got)
    holdings = tuple(Holding(each.device.id, each.consumed) for each in devices if not each.is_admin)
    return Allocation(
        tuple(HeldDevice(each.request, each.device.id) for each in devices), holdings, _usable_on(devices, node)
    )


def _usable_on(devices: Iterable[Allocated], node: str) -> NodeSelection | None:
    """The nodes where devices can be used together. Source: createNodeSelector, k8s.io/dynamic-resource-allocation 0.36."""
    selectors: list[NodeSelector] = []
    for each in devices:
        spec, wire = each.device.slice.spec, each.device.wire
        place = wire if spec.per_device_node_selection else spec
        if place.node_name is not None or wire.binds_to_node:
            only = LabelSelectorRequirement(NAME_FIELD, "In", (node,))
            return NodeSelection.compile(None, NodeSelector((NodeSelectorTerm(match_fields=(only,)),)))
        if place.node_selector is not None:
            selectors.append(place.node_selector)
    terms = [term for each in selectors for term in each.node_selector_terms or ()]
    if not terms:
        return None
    expressions = tuple(dict.fromkeys(each for term in terms for each in term.match_expressions or ()))
    fields = tuple(dict.fromkeys(each for term in terms for each in term.match_fields or ()))
    return NodeSelection.compile(None, NodeSelector((NodeSelectorTerm(expressions, fields),)))
