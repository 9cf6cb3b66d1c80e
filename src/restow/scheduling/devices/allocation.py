"""The search for devices: which ones of a node claims would get.

Claim by claim, request by request and device by device the first that fits is taken; where the rest finds none, it is given
back, and the next one is tried. The first full solution counts. Some things are mistakes of upstream's, and followed
(``DeviceRules`` says until when): counters are kept by the name of a pool, whatever its driver; what a device takes of them
is not given back where its taints or a constraint rule it out; constraints keep a device in mind that has no room. Source:
allocator "incubating", k8s.io/dynamic-resource-allocation 0.34 to 0.37.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from restow.scheduling.devices.asked import MOST_DEVICES, NamedClaim, Reach, Request, constraints_of
from restow.scheduling.devices.capacity import Amounts, consumed
from restow.scheduling.devices.constraints import Constraint
from restow.scheduling.devices.pools import DeviceId, Pool, PooledDevice, PoolId
from restow.scheduling.framework.extension_points import CycleError, UnknownError

#: A search that takes more steps on one node is given up; kube-scheduler gives one up after ten seconds.
MOST_STEPS: Final = 20_000

#: Amounts by counter set and counter.
_Counters = dict[tuple[str, str], int]


class Allocated(NamedTuple):
    """A device that a claim gets."""

    #: ``request``, or ``request/alternative``.
    request: str
    device: PooledDevice
    #: Whether others may have it, too, because the claim only looks after it.
    is_admin: bool
    #: What it consumes of a device that is shared; None for a device of its own.
    consumed: Amounts | None


class _TooManyError(Exception):
    """No claim may get that many devices."""


@dataclass(slots=True)
class _Claim:
    """A claim under search."""

    constraints: list[Constraint]
    #: Of each request its alternatives, most often one.
    requests: list[list[Request]]
    taken: list[Allocated] = field(default_factory=list)


def allocate(reach: Reach, claims: Sequence[NamedClaim]) -> list[list[Allocated]] | None:
    """What each claim gets on a node; None if the node does not have it.

    CycleError where no node can be right, since a claim or a class is wrong; UnknownError where the search is too long.
    """
    search = _Search(reach, [_Claim(constraints_of(each, reach.rules), reach.requests(each)) for each in claims])
    try:
        return search.run()
    except RecursionError:
        raise UnknownError("its claims ask for more devices than restow looks for") from None


class _Search:
    def __init__(self, reach: Reach, claims: list[_Claim]) -> None:
        self._reach = reach
        self._claims = claims
        #: The claims that have each device that is not shared.
        self._mine: dict[DeviceId, set[int]] = defaultdict(set)
        #: What is consumed of each device that is shared.
        self._amounts: dict[DeviceId, list[Amounts]] = defaultdict(list)
        self._counters = _CountersLeft(reach)
        self._candidates = [device for pool in reach.pools if pool.is_usable for device in pool.devices]
        self._steps = MOST_STEPS

    def run(self) -> list[list[Allocated]] | None:
        try:
            found = self._claim(0)
        except _TooManyError:
            found = False
        return [each.taken for each in self._claims] if found else None

    def _claim(self, at: int) -> bool:
        return at == len(self._claims) or self._request(at, 0)

    def _request(self, claim: int, at: int) -> bool:
        """Find devices for the requests of a claim from one on, and for all later claims."""
        requests = self._claims[claim].requests
        if at == len(requests):
            try:
                return self._claim(claim + 1)
            except _TooManyError:
                return False
        ended_otherwise = False
        for each in requests[at]:
            try:
                if self._devices(claim, at, each, 0, 0):
                    return True
                ended_otherwise = True
            except _TooManyError:
                continue
        if ended_otherwise:
            return False
        raise _TooManyError

    def _devices(self, claim: int, at: int, request: Request, have: int, start: int) -> bool:
        """Find the devices of a request that are missing, among candidates from one on, and all that comes after it."""
        self._steps -= 1
        if self._steps < 0:
            raise UnknownError(f"the search for its devices takes more than {MOST_STEPS} steps on {self._reach.node}")
        if request.everything is not None and not request.everything:
            return False
        if have >= request.count:
            return self._request(claim, at + 1)
        if len(self._claims[claim].taken) + request.count - have > MOST_DEVICES:
            raise _TooManyError
        for position, device in self._next(claim, request, have, start):
            give_back = self._take(claim, request, device)
            if give_back is None:
                continue
            is_found = False
            try:
                is_found = self._devices(claim, at, request, have + 1, position + 1)
            finally:
                if not is_found:
                    give_back()
            if is_found:
                return True
        return False

    def _next(self, claim: int, request: Request, have: int, start: int) -> Iterator[tuple[int, PooledDevice]]:
        """The devices to try: where all are asked for, just the one that is next."""
        if request.everything is not None:
            yield 0, request.everything[have]
            return
        for position in range(start, len(self._candidates)):
            device = self._candidates[position]
            if self._is_candidate(claim, request, device):
                yield position, device

    def _is_candidate(self, claim: int, request: Request, device: PooledDevice) -> bool:
        mine = self._mine.get(device.id, ())
        if claim in mine if request.wire.admin_access else self._is_in_use(device.id):
            return False
        amounts = self._amounts.get(device.id, ())
        return self._reach.is_selectable(request, device) and self._reach.has_room(request, device, *amounts)

    def _is_in_use(self, device: DeviceId) -> bool:
        return bool(self._mine.get(device)) or self._reach.holdings.has(device)

    def _take(self, claim: int, request: Request, device: PooledDevice) -> Callable[[], None] | None:
        """Take a device; returns what gives it back, or None if it cannot be taken."""
        is_counted = self._is_counted(device)
        if not self._is_free(claim, request, device) or (is_counted and not self._counters.take(device)):
            return None
        if not self._is_acceptable(claim, request, device):
            if is_counted and self._reach.rules.gives_back:
                self._counters.give_back(device)
            return None
        amounts = self._note(claim, request, device)

        def give_back() -> None:
            self._claims[claim].taken.pop()
            self._leave_constraints(claim, request, device)
            if amounts is None:
                self._mine[device.id].discard(claim)
            else:
                self._amounts[device.id].pop()
            if is_counted and (amounts is None or self._reach.rules.gives_back):
                self._counters.give_back(device)

        return give_back

    def _note(self, claim: int, request: Request, device: PooledDevice) -> Amounts | None:
        """The device is taken; returns what of it, if it is shared."""
        amounts = None
        if device.wire.allow_multiple_allocations:
            amounts = consumed(request.amounts, device.wire)
            self._amounts[device.id].append(amounts)
        else:
            self._mine[device.id].add(claim)
        self._claims[claim].taken.append(Allocated(request.full_name, device, request.wire.admin_access, amounts))
        return amounts

    def _is_free(self, claim: int, request: Request, device: PooledDevice) -> bool:
        if not request.wire.admin_access:
            return not self._is_in_use(device.id)
        return device.wire.allow_multiple_allocations or claim not in self._mine.get(device.id, ())

    def _is_counted(self, device: PooledDevice) -> bool:
        """Whether it takes of its pool's counters: only the first share of a device does."""
        has_shares = bool(self._amounts.get(device.id)) or self._reach.holdings.amounts(device.id) is not None
        return bool(device.consumes) and not (device.wire.allow_multiple_allocations and has_shares)

    def _is_acceptable(self, claim: int, request: Request, device: PooledDevice) -> bool:
        if not request.tolerates(device) or not self._meets_constraints(claim, request, device):
            return False
        if self._reach.has_room(request, device, *self._amounts.get(device.id, ())):
            return True
        # Where all devices are asked for, a share of this one may have been taken since.
        if self._reach.rules.gives_back:
            self._leave_constraints(claim, request, device)
        return False

    def _leave_constraints(self, claim: int, request: Request, device: PooledDevice) -> None:
        for each in self._claims[claim].constraints:
            each.remove(request.name, device)

    def _meets_constraints(self, claim: int, request: Request, device: PooledDevice) -> bool:
        constraints = self._claims[claim].constraints
        for at, each in enumerate(constraints):
            if each.add(request.name, device):
                continue
            if request.everything is not None:
                what = f"claim {request.claim}, request {request.name[1] or request.name[0]}"
                problem = f"cannot add device {device.id} because a claim constraint would not be satisfied"
                raise CycleError(f"{what}: {problem}")
            for earlier in constraints[:at]:
                earlier.remove(request.name, device)
            return False
        return True


class _CountersLeft:
    """What is left of the counters of pools; up to 1.36 by the name of the pool, whatever its driver."""

    def __init__(self, reach: Reach) -> None:
        self._pools: dict[PoolId, Pool] = {pool.id: pool for pool in reach.pools}
        self._reach = reach
        self._available: dict[PoolId, _Counters] = {}
        self._consumed: dict[PoolId, _Counters] = defaultdict(lambda: defaultdict(int))

    def take(self, device: PooledDevice) -> bool:
        """Take what a device consumes, if that is left."""
        available = self._available_in(device)
        consumed = self._consumed[self._key(device)]
        _add(consumed, device, 1)
        if all(amount >= consumed[counter] for counter, amount in available.items()):
            return True
        self.give_back(device)
        return False

    def give_back(self, device: PooledDevice) -> None:
        """Give back what a device consumes."""
        _add(self._consumed[self._key(device)], device, -1)

    def _key(self, device: PooledDevice) -> PoolId:
        return PoolId(device.id.driver if self._reach.rules.gives_back else "", device.id.pool)

    def _available_in(self, device: PooledDevice) -> _Counters:
        """What the devices that others have leave of the counters of a device's pool."""
        key = self._key(device)
        known = self._available.get(key)
        if known is None:
            pool = self._pools[PoolId(device.id.driver, device.id.pool)]
            counters = (pool.counters or {}).items()
            known = {(name, counter): amount for name, of_set in counters for counter, amount in of_set.items()}
            for each in pool.counted:
                if each.consumes and self._has(each):
                    _add(known, each, -1)
            self._available[key] = known
        return known

    def _has(self, device: PooledDevice) -> bool:
        """Whether somebody has a device; up to 1.36, shares of one do not count here."""
        holdings = self._reach.holdings
        return holdings.has(device.id) or (self._reach.rules.gives_back and holdings.amounts(device.id) is not None)


def _add(amounts: _Counters, device: PooledDevice, sign: int) -> None:
    for name, counters in device.consumes.items():
        for counter, amount in counters.items():
            amounts[name, counter] += sign * amount
