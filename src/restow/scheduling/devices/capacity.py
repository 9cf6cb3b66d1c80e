"""How much of a device's capacity a request consumes, and whether that is left.

A request that names no amount takes the default of the capacity's policy, or all of it; one that does is rounded up to what
the policy permits. Amounts are nano-units. Source: consumable capacity, k8s.io/dynamic-resource-allocation 0.36.
"""

from __future__ import annotations

from collections.abc import Mapping

from restow.kube.objects import WireQuantity
from restow.kube.objects.devices import CapacityRange, CapacityRequestPolicy, Device, DeviceCapacity
from restow.kube.quantity import NANO_PER_UNIT, parse_quantity

#: Nano-units by name of the capacity.
Amounts = Mapping[str, int]


def nano(amount: WireQuantity) -> int:
    """An amount in nano-units."""
    return parse_quantity(amount).nano


def consumed(requested: Mapping[str, WireQuantity], device: Device) -> dict[str, int]:
    """What a request takes of each capacity of a device that is shared."""
    return {name: _consumed(requested.get(name), each) for name, each in (device.capacity or {}).items()}


def has_room(requested: Mapping[str, WireQuantity], device: Device, *taken: Amounts) -> bool:
    """Whether a device has the capacities that a request names, and enough of each beside what others took."""
    capacity = device.capacity or {}
    if requested.keys() - capacity.keys():
        return False
    for name, each in capacity.items():
        amount = _consumed(requested.get(name), each)
        if each.request_policy is not None and not _is_permitted(amount, each.request_policy):
            return False
        if amount + sum(other.get(name, 0) for other in taken) > nano(each.value):
            return False
    return True


def _consumed(requested: WireQuantity | None, capacity: DeviceCapacity) -> int:
    policy = capacity.request_policy
    if requested is None:
        return nano(capacity.value if policy is None or policy.default is None else policy.default)
    amount = nano(requested)
    if policy is None:
        return amount
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _rounded_up(amount, nano(policy.valid_range.min), policy.valid_range.step)
    permitted = (nano(each) for each in policy.valid_values or ())
    return next((each for each in permitted if amount <= each), amount)


def _rounded_up(amount: int, least: int, step: WireQuantity | None) -> int:
    if amount < least:
        return least
    if step is None:
        return amount
    above, each = _units(amount) - _units(least), _step(step)
    return (_units(least) + -(-above // each) * each) * NANO_PER_UNIT


def _units(amount: int) -> int:
    """Whole units, rounded up."""
    return -(-amount // NANO_PER_UNIT)


def _is_permitted(amount: int, policy: CapacityRequestPolicy) -> bool:
    if policy.default is not None and amount == nano(policy.default):
        return True
    if policy.valid_range is not None:
        return _is_within(amount, policy.valid_range)
    return not policy.valid_values or any(amount == nano(each) for each in policy.valid_values)


def _is_within(amount: int, permitted: CapacityRange) -> bool:
    if permitted.max is not None and amount > nano(permitted.max):
        return False
    if permitted.step is None:
        return True
    least = 0 if permitted.min is None else nano(permitted.min)
    return (_units(amount) - _units(least)) % _step(permitted.step) == 0


def _step(step: WireQuantity) -> int:
    """Whole units; an API server refuses steps that are none."""
    return max(_units(nano(step)), 1)
