"""A reassignment problem as arrays: who may be where, what that takes, and what it costs.

Goals are data. Each term of the cost belongs to one machine (load above a limit, squared deviation, lopsided free
resources, a price), to one process (its move), or to one service (how many of its processes move), so that the change
of a cost follows from the machines that a move touches. All amounts are int64: the planner scales units before, so that
no sum passes 2**62.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.int32]
Flags: TypeAlias = NDArray[np.bool_]

#: A share of a machine of 1.0, in the integers that squared deviations are computed with.
WHOLE = 1 << 18
#: Resources that the compiled core has room for.
MOST_RESOURCES = 64
#: Members that a service may have if their number on a machine is limited.
MOST_MEMBERS = (1 << 16) - 1


@dataclass(frozen=True, slots=True)
class Excess:
    """Load above a limit: `weight[resource]` for each unit above `safety[machine, resource]`."""

    safety: Integers
    weight: Integers


@dataclass(frozen=True, slots=True)
class Deviation:
    """Squared deviation of a machine's utilisation, `load / capacity` in units of 1 / WHOLE, from a target.

    A negative weight rewards deviation: with a target of zero, full machines become fuller.
    """

    target: Integers  # [machine, resource], in units of 1 / WHOLE
    weight: Integers  # [resource]


@dataclass(frozen=True, slots=True)
class BalancePair:
    """`weight` for each unit by which `ratio` times the free `first` resource exceeds the free `second`, per machine."""

    first: int
    second: int
    ratio: int
    weight: int


@dataclass(frozen=True, slots=True)
class Moves:
    """What moves cost: each process, the way between two machines, and the service with the most moved processes."""

    process: Integers | None = None  # [process]
    distance: Indices | None = None  # [start machine, new machine]
    distance_weight: int = 0
    service_weight: int = 0


@dataclass(frozen=True, slots=True)
class Objective:
    """What an assignment costs: the sum of the terms that are given."""

    excess: Excess | None = None
    deviation: Deviation | None = None
    pairs: tuple[BalancePair, ...] = ()
    price: Integers | None = None  # [machine]: if at least one process is there
    moves: Moves = field(default_factory=Moves)


def _none_stays() -> Indices:
    return np.zeros((0, 3), np.int32)


@dataclass(frozen=True, slots=True)
class MoveLimits:
    """How many processes of a group may be away from their start; each process is in one group, or in none."""

    group_of: Indices  # [process], -1 for none
    most: Indices  # [group]


@dataclass(frozen=True, slots=True)
class Services:
    """Rules for processes that belong together; service `s` is row `s` of each.

    Members that may not move are no processes: a row (service, machine, number) of `staying` says where they are, and
    every rule counts them. Rows of the same service and machine add up.
    """

    limit: Indices  # most processes on one machine, 0 without a limit (anti-affinity: 1)
    spread: Indices  # the least number of locations with a process, 0 or 1 without a rule
    needs: tuple[tuple[int, ...], ...]  # services of which a process must be in each neighbourhood where one of s is
    staying: Indices = field(default_factory=_none_stays)  # [row, 3]: so many members of a service stay on a machine

    @classmethod
    def without_rules(cls, count: int) -> Services:
        """Services that limit nothing."""
        return cls(np.zeros(count, np.int32), np.zeros(count, np.int32), ((),) * count)


def _no_counts() -> Indices:
    return np.zeros((0, 0), np.int32)


def _nothing() -> Indices:
    return np.zeros(0, np.int32)


@dataclass(frozen=True, slots=True)
class Skews:
    """How much more members of some services one location may have than another; rule `r` is row `r` of each.

    The locations of a rule are a division of the machines of its own, a row of `location`. Of these the first ``locations``
    count, machines of others are nowhere. A location has at most ``most`` more members than the one with fewest. One that has
    more at the start may keep them, as long as no location has fewer than the fewest at the start, and none of them has come
    from another machine.
    """

    of_service: tuple[tuple[int, ...], ...] = ()  # the rules that count the members of each service
    location: Indices = field(default_factory=_no_counts)  # [division, machine]
    division: Indices = field(default_factory=_nothing)  # [rule]
    locations: Indices = field(default_factory=_nothing)  # [rule]
    staying: Indices = field(default_factory=_no_counts)  # [rule, location]: members that are no processes
    most: Indices = field(default_factory=_nothing)  # [rule]
    from_zero: Indices = field(default_factory=_nothing)  # [rule]: 1 if the fewest always count as none

    def __len__(self) -> int:
        """How many rules there are."""
        return len(self.division)

    def of(self, service: int) -> tuple[int, ...]:
        """The rules that count the members of a service."""
        return self.of_service[service] if len(self) else ()


@dataclass(frozen=True, slots=True)
class ReassignmentProblem:
    """Processes on machines, and the rules for moving them.

    The start may be without room: on a machine with more load than capacity nothing is added until there is room, and
    on one with more processes of a service than its limit none of that service. Locations may differ too much as well. It
    must keep the other rules of services, or `search` refuses it.
    """

    usage: Integers  # [process, resource]
    capacity: Integers  # [machine, resource]
    base: Integers  # [machine, resource]: load that stays, of which no process is part and which makes no machine used
    start: Indices  # [process]
    objective: Objective
    service_of: Indices  # [process]
    services: Services
    transient: Flags  # [resource]: a moved process holds it on its start as well
    class_of: Indices  # [process]
    allowed: Flags  # [class, machine]
    location: Indices  # [machine]
    neighbourhood: Indices  # [machine]
    budget: int  # most processes that may be away from their start
    limits: MoveLimits
    reserved: Integers  # [machine, resource]: room that nothing may take, and that counts in no cost
    skews: Skews

    @property
    def processes(self) -> int:
        """How many processes there are."""
        return len(self.usage)

    @property
    def machines(self) -> int:
        """How many machines there are."""
        return len(self.capacity)

    @property
    def resources(self) -> int:
        """How many resources there are."""
        return int(self.usage.shape[1])


def problem(
    usage: Integers,
    capacity: Integers,
    start: Indices,
    objective: Objective,
    *,
    service_of: Indices | None = None,
    services: Services | None = None,
    transient: Flags | None = None,
    class_of: Indices | None = None,
    allowed: Flags | None = None,
    location: Indices | None = None,
    neighbourhood: Indices | None = None,
    budget: int | None = None,
    base: Integers | None = None,
    limits: MoveLimits | None = None,
    reserved: Integers | None = None,
    skews: Skews | None = None,
) -> ReassignmentProblem:
    """Return a problem; what is not given limits nothing."""
    processes, machines = len(usage), len(capacity)
    alone = np.arange(processes, dtype=np.int32)
    here = np.zeros(machines, np.int32)
    return ReassignmentProblem(
        usage=np.ascontiguousarray(usage, np.int64),
        capacity=np.ascontiguousarray(capacity, np.int64),
        base=np.zeros(capacity.shape, np.int64) if base is None else np.ascontiguousarray(base, np.int64),
        limits=MoveLimits(np.full(processes, -1, np.int32), np.zeros(0, np.int32)) if limits is None else limits,
        reserved=np.zeros(capacity.shape, np.int64) if reserved is None else np.ascontiguousarray(reserved, np.int64),
        start=np.ascontiguousarray(start, np.int32),
        objective=objective,
        service_of=alone if service_of is None else np.ascontiguousarray(service_of, np.int32),
        services=Services.without_rules(processes) if services is None else services,
        transient=np.zeros(usage.shape[1], np.bool_) if transient is None else transient,
        class_of=np.zeros(processes, np.int32) if class_of is None else np.ascontiguousarray(class_of, np.int32),
        allowed=np.ones((1, machines), np.bool_) if allowed is None else np.ascontiguousarray(allowed),
        location=here if location is None else np.ascontiguousarray(location, np.int32),
        neighbourhood=here if neighbourhood is None else np.ascontiguousarray(neighbourhood, np.int32),
        budget=processes if budget is None else min(budget, processes),
        skews=Skews() if skews is None else skews,
    )


def shares(problem: ReassignmentProblem) -> NDArray[np.float64]:
    """Return what turns a load into units of 1 / WHOLE of its machine, [machine, resource]; zero without capacity."""
    capacity = problem.capacity
    return np.where(capacity > 0, WHOLE / np.maximum(capacity, 1), 0.0)
