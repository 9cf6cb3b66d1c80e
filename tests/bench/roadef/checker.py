"""Judges an assignment by the challenge's rules, from nothing: plain Python over the instance's own lists.

It shares nothing with `restow.optimizing`, so that an error there cannot hide here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bench.roadef.instances import Instance


@dataclass(frozen=True)
class Cost:
    """The challenge's five costs, each with its weights."""

    load: int
    balance: int
    process_move: int
    service_move: int
    machine_move: int

    @property
    def total(self) -> int:
        return self.load + self.balance + self.process_move + self.service_move + self.machine_move


def cost(instance: Instance, start: Sequence[int], new: Sequence[int]) -> Cost:
    """Return what an assignment costs, whether or not it keeps the rules."""
    usage = usage_of(instance, new)
    load = balance = 0
    for machine, used in enumerate(usage):
        for resource, weight in enumerate(instance.load_weight):
            load += weight * max(0, used[resource] - instance.safety_capacity[machine][resource])
        free = [capacity - use for capacity, use in zip(instance.capacity[machine], used, strict=True)]
        for first, second, target, weight in instance.balance:
            balance += weight * max(0, target * free[first] - free[second])
    moved = [process for process, machine in enumerate(new) if machine != start[process]]
    of_service = [0] * len(instance.spread_min)
    for process in moved:
        of_service[instance.service[process]] += 1
    return Cost(
        load=load,
        balance=balance,
        process_move=instance.process_weight * sum(instance.process_move[process] for process in moved),
        service_move=instance.service_weight * max(of_service, default=0),
        machine_move=instance.machine_weight
        * sum(int(instance.machine_move[start[process], new[process]]) for process in moved),
    )


def usage_of(instance: Instance, place: Sequence[int]) -> list[list[int]]:
    """Return what each machine's processes use, [machine][resource]."""
    usage = [[0] * len(instance.transient) for _ in instance.capacity]
    for process, machine in enumerate(place):
        for resource, amount in enumerate(instance.requirement[process]):
            usage[machine][resource] += amount
    return usage


def violations(instance: Instance, start: Sequence[int], new: Sequence[int]) -> list[str]:
    """Return a sentence for each rule that is broken."""
    machines = len(instance.capacity)
    if len(new) != len(instance.service):
        return [f"{len(new)} machines for {len(instance.service)} processes"]
    if any(not 0 <= machine < machines for machine in new):
        return ["a machine that does not exist"]
    return [
        *_capacities(instance, start, new),
        *_conflicts(instance, new),
        *_spread(instance, new),
        *_dependencies(instance, new),
    ]


def _capacities(instance: Instance, start: Sequence[int], new: Sequence[int]) -> list[str]:
    usage = usage_of(instance, new)
    for process, machine in enumerate(start):
        if new[process] != machine:
            for resource, transient in enumerate(instance.transient):
                if transient:
                    usage[machine][resource] += instance.requirement[process][resource]
    return [
        f"machine {machine}: resource {resource}: {used} > {instance.capacity[machine][resource]}"
        for machine, row in enumerate(usage)
        for resource, used in enumerate(row)
        if used > instance.capacity[machine][resource]
    ]


def _members(instance: Instance, new: Sequence[int]) -> dict[int, list[int]]:
    """The machines of each service's processes."""
    members: dict[int, list[int]] = defaultdict(list)
    for process, machine in enumerate(new):
        members[instance.service[process]].append(machine)
    return members


def _conflicts(instance: Instance, new: Sequence[int]) -> list[str]:
    members = _members(instance, new).items()
    return [f"service {service}: two processes on a machine" for service, on in members if len(set(on)) < len(on)]


def _spread(instance: Instance, new: Sequence[int]) -> list[str]:
    members = _members(instance, new)
    return [
        f"service {service}: fewer than {least} locations"
        for service, least in enumerate(instance.spread_min)
        if len({instance.location[machine] for machine in members[service]}) < least
    ]


def _dependencies(instance: Instance, new: Sequence[int]) -> list[str]:
    members = _members(instance, new)
    near = {service: {instance.neighborhood[machine] for machine in on} for service, on in members.items()}
    return [
        f"service {service}: a neighborhood without service {needed}"
        for service, needs in enumerate(instance.dependencies)
        for needed in needs
        if not near.get(service, set()) <= near.get(needed, set())
    ]
