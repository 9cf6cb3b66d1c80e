"""What claims ask for on one node: requests with their alternatives, their classes, and how many devices each wants.

Where all devices are asked for, these are found first. Source: Allocate, k8s.io/dynamic-resource-allocation 0.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from restow.kube.objects import Taint, Toleration, WireQuantity
from restow.kube.objects.devices import (
    DeviceClaim,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
)
from restow.kube.taints import HARD_EFFECTS, tolerates
from restow.scheduling.devices.capacity import Amounts, has_room
from restow.scheduling.devices.constraints import Constraint, RequestName, constraint_of
from restow.scheduling.devices.holdings import Holdings
from restow.scheduling.devices.pools import Pool, PooledDevice, is_in_reach
from restow.scheduling.devices.rules import DeviceRules
from restow.scheduling.devices.selectors import Selectors
from restow.scheduling.framework.extension_points import CycleError

#: A claim gets at most this many devices. Source: AllocationResultsMaxSize, Kubernetes 1.36.
MOST_DEVICES: Final = 32


class NamedClaim(Struct, frozen=True):
    """A claim to find devices for, with the name that messages give it."""

    name: str
    devices: DeviceClaim


@dataclass(slots=True, frozen=True, eq=False)
class Request:
    """A request, or one alternative of it."""

    name: RequestName
    claim: str
    wire: DeviceSubRequest
    of_class: DeviceClass
    count: int
    #: The devices to take where all are asked for; None where a number is.
    everything: Sequence[PooledDevice] | None = None

    @property
    def full_name(self) -> str:
        """``request``, or ``request/alternative``."""
        return "/".join(filter(None, self.name))

    @property
    def amounts(self) -> Mapping[str, WireQuantity]:
        """What it consumes of the capacity of each device."""
        return {} if self.wire.capacity is None else self.wire.capacity.requests or {}

    def tolerates(self, device: PooledDevice) -> bool:
        """Whether no taint of a device keeps it off."""
        tolerations = self.wire.tolerations or ()
        return all(
            each.effect not in HARD_EFFECTS or any(_tolerates(toleration, each) for toleration in tolerations)
            for each in device.wire.taints or ()
        )


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    """As with nodes, but for ``Gt`` and ``Lt``. Source: ToleratesTaint, k8s.io/dynamic-resource-allocation 0.36."""
    return toleration.operator in ("", "Equal", "Exists") and tolerates(toleration, taint)


class Reach(Struct, frozen=True):
    """What one node can reach, and who has what of it."""

    node: str
    labels: Mapping[str, str]
    pools: Sequence[Pool]
    classes: Mapping[tuple[str, str], DeviceClass]
    selectors: Selectors
    holdings: Holdings
    rules: DeviceRules

    def is_selectable(self, request: Request, device: PooledDevice) -> bool:
        """Whether a device is what a request and its class select, and chooses this node if it chooses nodes."""
        of_class = request.of_class
        if not self.selectors.match(of_class.spec.selectors or (), device, f"class {of_class.metadata.name}"):
            return False
        if not self.selectors.match(request.wire.selectors or (), device, f"claim {request.claim}"):
            return False
        return not device.slice.spec.per_device_node_selection or is_in_reach(device.wire, self.node, self.labels)

    def has_room(self, request: Request, device: PooledDevice, *mine: Amounts) -> bool:
        """Whether a device has the capacity that a request wants, beside what others have of it and what is taken now."""
        others = self.holdings.amounts(device.id) or {}
        return has_room(request.amounts, device.wire, others, *mine)

    def _counts_among_all(self, request: Request, device: PooledDevice) -> bool:
        if not self.is_selectable(request, device):
            return False
        if self.rules.all_by_whole_capacity:
            return has_room(request.amounts, device.wire)
        return self.has_room(request, device)

    def requests(self, claim: NamedClaim) -> list[list[Request]]:
        """The requests of a claim, each with its alternatives; CycleError if the claim can be satisfied nowhere."""
        found = [list(self._alternatives(claim, each)) for each in claim.devices.requests or ()]
        least = sum(min(each.count for each in alternatives) for alternatives in found)
        if least > MOST_DEVICES:
            problem = f"number of requested devices {least} exceeds the claim limit of {MOST_DEVICES}"
            raise CycleError(f"claim {claim.name}: {problem}")
        return found

    def _alternatives(self, claim: NamedClaim, request: DeviceRequest) -> Iterator[Request]:
        for each in request.first_available or ():
            yield self._request(claim, (request.name, each.name), each)
        if not request.first_available:
            yield self._request(claim, (request.name, ""), request.exactly or DeviceSubRequest())

    def _request(self, claim: NamedClaim, name: RequestName, wire: DeviceSubRequest) -> Request:
        place = f"claim {claim.name}, request {name[1] or name[0]}"
        of_class = self.classes.get(("", wire.device_class_name))
        if of_class is None:
            raise CycleError(f"{place}: could not retrieve device class {wire.device_class_name}")
        made = Request(name, claim.name, wire, of_class, wire.count or 1)
        if wire.allocation_mode in ("", "ExactCount"):
            return made
        if wire.allocation_mode != "All":
            raise CycleError(f"{place}: unsupported count mode {wire.allocation_mode}")
        everything = self._everything(made, place)
        return Request(name, claim.name, wire, of_class, len(everything), everything)

    def _everything(self, request: Request, place: str) -> list[PooledDevice]:
        found: list[PooledDevice] = []
        for pool in self.pools:
            is_incomplete = pool.is_incomplete or (pool.is_partial and not self.rules.passes_over_pools)
            if is_incomplete or pool.is_invalid:
                state = "being updated" if is_incomplete else "invalid"
                raise CycleError(f"{place}: asks for all devices, but resource pool {pool.id} is currently {state}")
            found += [each for each in pool.devices if self._counts_among_all(request, each)]
        return found


def constraints_of(claim: NamedClaim, rules: DeviceRules) -> list[Constraint]:
    """The constraints of a claim, without any device yet; CycleError for one of an unknown kind."""
    return [_constraint(claim, at, each, rules) for at, each in enumerate(claim.devices.constraints or ())]


def _constraint(claim: NamedClaim, at: int, wire: DeviceConstraint, rules: DeviceRules) -> Constraint:
    try:
        return constraint_of(wire, remembers_all=rules.gives_back)
    except ValueError as error:
        raise CycleError(f"claim {claim.name}, constraint #{at}: {error}") from error
