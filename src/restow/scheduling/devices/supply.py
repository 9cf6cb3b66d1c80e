"""How many devices of each kind nodes have, and how many claims ask for: plain numbers, for plans of many moves.

A kind is a class and what a request selects of it. Only numbers of whole devices are counted: a request for all devices, for
one of several kinds, for a share of a device, or for one that it only looks after is no number. Constraints do not count,
and neither does which device is whose of those that are of two kinds. So a plan that goes by these numbers has to be proven.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from restow.kube.objects.devices import DeviceClaim, DeviceSelector, DeviceSubRequest
from restow.scheduling.devices.asked import Reach, Request
from restow.scheduling.devices.claims import Claims, NoClaimError, UsedClaim
from restow.scheduling.devices.pools import PooledDevice
from restow.scheduling.framework.extension_points import CycleError


class DeviceKind(NamedTuple):
    """The devices that one request may get."""

    of_class: str
    selectors: tuple[DeviceSelector, ...]


class DeviceSupply:
    """The devices of one state, by kind."""

    def __init__(self, claims: Claims, pods: Iterable[int]) -> None:
        """``pods`` are those whose claims count."""
        self._claims = claims
        claims.catch_up()
        asking = [pod for pod in pods if claims.has_any(pod)]
        self._wanted = {pod: self._wanted_by(pod) for pod in asking}
        #: Extended resources that are devices everywhere.
        self.resources = frozenset(name for pod in asking for name in claims.served(pod))
        #: What somebody asks for.
        self.kinds: tuple[DeviceKind, ...] = tuple(
            dict.fromkeys(kind for each in self._wanted.values() for kind in each)
        )

    def wanted(self, pod: int) -> list[int]:
        """How many devices of each kind the claims of a pod ask for that end with it, or are not anywhere yet."""
        counts = self._wanted.get(pod, Counter[DeviceKind]())
        return [counts[each] for each in self.kinds]

    def is_tied(self, pod: int) -> bool:
        """Whether the pod names a claim whose devices can be used on some nodes only: its next pod needs them, too."""
        staying = (each.allocation for each in self._of(pod) if not each.is_own)
        return any(each is not None and each.nodes is not None for each in staying)

    def on(self, node: int) -> list[tuple[int, int]]:
        """Of each kind how many devices a node reaches, and how many of these are somebody's."""
        self._claims.catch_up()
        reach = self._claims.reach(node)
        return [self._count(reach, each) for each in self.kinds]

    def _count(self, reach: Reach, kind: DeviceKind) -> tuple[int, int]:
        of_class = reach.classes.get(("", kind.of_class))
        if of_class is None:
            return 0, 0
        request = Request(("", ""), "", DeviceSubRequest(selectors=kind.selectors), of_class, 1)
        devices = [each for pool in reach.pools for each in pool.devices]
        try:
            found = [each for each in devices if _is_whole(each) and reach.is_selectable(request, each)]
        except CycleError:
            # An expression fails on some device: no claim of this kind finds any.
            return 0, 0
        return len(found), sum(reach.holdings.has(each.id) for each in found)

    def _wanted_by(self, pod: int) -> Counter[DeviceKind]:
        counts: Counter[DeviceKind] = Counter()
        for each in self._of(pod):
            if each.is_own or each.allocation is None:
                counts.update(_asked(each.named.devices))
        return counts

    def _of(self, pod: int) -> Sequence[UsedClaim]:
        try:
            return self._claims.of(pod)
        except NoClaimError:
            return ()


def _asked(claim: DeviceClaim) -> dict[DeviceKind, int]:
    """How many devices of each kind a claim asks for."""
    counts: Counter[DeviceKind] = Counter()
    for each in claim.requests or ():
        request = each.exactly
        if request is None or request.allocation_mode == "All" or request.admin_access or request.capacity is not None:
            continue
        counts[DeviceKind(request.device_class_name, request.selectors or ())] += request.count or 1
    return counts


def _is_whole(device: PooledDevice) -> bool:
    return not device.wire.allow_multiple_allocations
