"""What the devices of a claim must have in common, and in what they must differ (``constraints``).

A constraint is asked before each device is taken, and told when one is given back. Source: matchAttribute and
distinctAttribute, k8s.io/dynamic-resource-allocation 0.36 and 0.37.
"""

from __future__ import annotations

from typing import Protocol

from restow.kube.objects.devices import DeviceAttribute, DeviceConstraint
from restow.scheduling.devices.pools import PooledDevice

#: A request, and the alternative of it that was chosen; empty where it has none.
RequestName = tuple[str, str]
#: Kind and value of an attribute.
_Value = tuple[str, object]


class Constraint(Protocol):
    """One constraint while devices are chosen."""

    def add(self, request: RequestName, device: PooledDevice) -> bool:
        """Whether a device may be taken; it is then."""
        ...

    def remove(self, request: RequestName, device: PooledDevice) -> None:
        """Give back a device that was taken."""
        ...


class _SameAttribute:
    """All devices have one value."""

    def __init__(self, requests: frozenset[str], attribute: str) -> None:
        self._requests = requests
        self._attribute = attribute
        self._value: _Value | None = None
        self._count = 0

    def add(self, request: RequestName, device: PooledDevice) -> bool:
        if not _concerns(self._requests, request):
            return True
        value = value_of(device, self._attribute)
        if value is None or (self._count and (value != self._value or not value[0])):
            return False
        self._value = value
        self._count += 1
        return True

    def remove(self, request: RequestName, _device: PooledDevice) -> None:
        self._count -= _concerns(self._requests, request)


class _DistinctAttribute:
    """No two devices have one value. Up to 1.36 one value a request is remembered: the last one that was added."""

    def __init__(self, requests: frozenset[str], attribute: str, *, remembers_all: bool) -> None:
        self._requests = requests
        self._attribute = attribute
        self._remembers_all = remembers_all
        #: With the request of each.
        self._values: list[tuple[str, _Value]] = []

    def add(self, request: RequestName, device: PooledDevice) -> bool:
        if not _concerns(self._requests, request):
            return True
        value = value_of(device, self._attribute)
        if value is None or any(value == each or not value[0] for _, each in self._values):
            return False
        if not self._remembers_all:
            self._forget(request)
        self._values.append((request[0], value))
        return True

    def remove(self, request: RequestName, _device: PooledDevice) -> None:
        if not _concerns(self._requests, request):
            return
        if self._remembers_all:
            self._values.pop()
        else:
            self._forget(request)

    def _forget(self, request: RequestName) -> None:
        self._values = [each for each in self._values if each[0] != request[0]]


def constraint_of(wire: DeviceConstraint, *, remembers_all: bool) -> Constraint:
    """A constraint without any device; ValueError for one of an unknown kind."""
    requests = frozenset(wire.requests or ())
    if wire.match_attribute is not None:
        return _SameAttribute(requests, wire.match_attribute)
    if wire.distinct_attribute is not None:
        return _DistinctAttribute(requests, wire.distinct_attribute, remembers_all=remembers_all)
    raise ValueError("empty constraint (unsupported constraint type?)")


def _concerns(requests: frozenset[str], request: RequestName) -> bool:
    return not requests or request[0] in requests or (request[1] != "" and "/".join(request) in requests)


def value_of(device: PooledDevice, name: str) -> _Value | None:
    """The value of an attribute by its full name; those of the driver's own domain need none in the device."""
    attributes = device.wire.attributes or {}
    found = attributes.get(name)
    if found is None:
        domain, _, short = name.partition("/")
        found = attributes.get(short) if domain == device.id.driver else None
    return None if found is None else _typed(found)


def _typed(attribute: DeviceAttribute) -> _Value:
    """The kind tells values of different types apart; it is empty for one that is not known."""
    for kind in ("text", "integer", "boolean", "version"):
        value = getattr(attribute, kind)
        if value is not None:
            return kind, value
    return "", None
