"""Who has which devices: those that are somebody's alone, and what is consumed of those that are shared.

A claim that only looks after a device (``adminAccess``) leaves it to others. Source: allocated devices of DynamicResources,
Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from restow.scheduling.devices.capacity import Amounts
from restow.scheduling.devices.pools import DeviceId


class Holding(NamedTuple):
    """A device that a claim has, and what it consumes of it; None for a device of its own."""

    device: DeviceId
    consumed: Amounts | None = None


class Holdings:
    """What all claims have."""

    def __init__(self) -> None:
        self._owners: Counter[DeviceId] = Counter()
        self._shares: Counter[DeviceId] = Counter()
        self._consumed: dict[DeviceId, Counter[str]] = defaultdict(Counter)

    def has(self, device: DeviceId) -> bool:
        """Whether a device is somebody's alone."""
        return self._owners[device] > 0

    def amounts(self, device: DeviceId) -> Amounts | None:
        """What is consumed of a device that is shared; None if no claim has a share of it."""
        return self._consumed[device] if self._shares[device] > 0 else None

    def add(self, holdings: Iterable[Holding]) -> None:
        """A claim gets devices."""
        self._change(holdings, 1)

    def remove(self, holdings: Iterable[Holding]) -> None:
        """A claim gives devices back."""
        self._change(holdings, -1)

    def _change(self, holdings: Iterable[Holding], sign: int) -> None:
        for device, consumed in holdings:
            if consumed is None:
                self._owners[device] += sign
                continue
            self._shares[device] += sign
            for name, amount in consumed.items():
                self._consumed[device][name] += sign * amount
