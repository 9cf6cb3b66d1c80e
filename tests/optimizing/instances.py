"""Small random problems with every rule and every term, for tests of the search; those with skews are problems of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from restow.optimizing.evaluation import held
from restow.optimizing.problem import (
    WHOLE,
    BalancePair,
    Deviation,
    Excess,
    MoveLimits,
    Moves,
    Objective,
    ReassignmentProblem,
    Services,
    Skews,
    problem,
)


def a_problem(seed: int, processes: int = 24, machines: int = 6, *, budget: int | None = None) -> ReassignmentProblem:
    """A problem with three resources, the last one transient, in which the start keeps all rules.

    On half of the machines there is load that stays, and a member of every third service stays somewhere. Of three groups
    of processes, few may move.
    """
    rng = np.random.default_rng(seed)
    usage = rng.integers(0, 30, (processes, 3))
    start = rng.integers(0, machines, processes).astype(np.int32)
    location, neighbourhood = np.arange(machines) % 3, np.arange(machines) % 2
    service_of = _services(rng, start)
    services = _rules(rng, service_of, start, location, neighbourhood)
    base = rng.integers(0, 20, (machines, 3)) * rng.integers(0, 2, (machines, 1))
    roomless = problem(usage, np.full((machines, 3), 10**6), start, Objective(), base=base)
    capacity = held(roomless, start) + rng.integers(5, 60, (machines, 3))
    class_of = rng.integers(0, 3, processes)
    allowed = rng.random((3, machines)) < 0.8
    allowed[class_of, start] = True
    return problem(
        usage,
        capacity,
        start,
        _objective(rng, processes, capacity),
        service_of=service_of,
        services=services,
        transient=np.array([False, False, True]),
        class_of=class_of,
        allowed=allowed,
        location=location,
        neighbourhood=neighbourhood,
        budget=budget,
        base=base,
        limits=MoveLimits(rng.integers(-1, 3, processes).astype(np.int32), np.array([1, 2, 5], np.int32)),
        reserved=rng.integers(0, 4, (machines, 3)),
    )


def a_problem_with_skews(
    seed: int, processes: int = 24, machines: int = 6, *, budget: int | None = None
) -> ReassignmentProblem:
    """The same problem with four skew rules over two divisions of the machines; each service is in none to two of them."""
    return with_skews(a_problem(seed, processes, machines, budget=budget), seed)


def with_skews(case: ReassignmentProblem, seed: int) -> ReassignmentProblem:
    """A problem with skew rules, some of which the start breaks; one division has a location that does not count."""
    rng = np.random.default_rng(seed)
    location = np.stack([np.arange(case.machines) % 3, rng.integers(0, 3, case.machines)]).astype(np.int32)
    services = range(len(case.services.limit))
    skews = Skews(
        of_service=tuple(tuple(np.flatnonzero(rng.random(4) < 0.3).tolist()[:2]) for _ in services),
        location=location,
        division=np.array([0, 0, 1, 0], np.int32),
        locations=np.array([3, 3, 2, 3], np.int32),
        staying=rng.integers(0, 2, (4, 3)).astype(np.int32),
        most=rng.integers(1, 4, 4).astype(np.int32),
        from_zero=np.array([0, 0, 0, rng.integers(0, 2)], np.int32),
    )
    return replace(case, skews=skews)


def _services(rng: np.random.Generator, start: np.ndarray) -> np.ndarray:
    """Services of about three processes, no two of which begin on one machine."""
    service_of = np.zeros(len(start), np.int32)
    on: list[set[int]] = []
    for process, machine in enumerate(start.tolist()):
        free = [service for service, there in enumerate(on) if machine not in there and len(there) < 4]
        service = int(rng.choice(free)) if free and rng.random() < 0.7 else len(on)
        if service == len(on):
            on.append(set())
        on[service].add(machine)
        service_of[process] = service
    return service_of


def _rules(
    rng: np.random.Generator, service_of: np.ndarray, start: np.ndarray, location: np.ndarray, near: np.ndarray
) -> Services:
    """Limits, spreads and needs that hold at the start."""
    count = int(service_of.max()) + 1
    kept = np.arange(0, count, 3)
    staying = np.stack([kept, rng.integers(0, len(location), len(kept)), np.ones_like(kept)], axis=1).astype(np.int32)
    there = [np.append(start[service_of == one], staying[staying[:, 0] == one, 1]) for one in range(count)]
    spread = [rng.integers(0, len(set(location[machines].tolist())) + 1) for machines in there]
    close = [set(near[machines].tolist()) for machines in there]
    needs = tuple(
        tuple(other for other in range(count) if other != one and close[one] <= close[other] and rng.random() < 0.2)
        for one in range(count)
    )
    return Services(rng.integers(0, 2, count).astype(np.int32), np.array(spread, np.int32), needs, staying)


def _objective(rng: np.random.Generator, processes: int, capacity: np.ndarray) -> Objective:
    machines = len(capacity)
    return Objective(
        excess=Excess(capacity * 7 // 10, rng.integers(0, 4, 3)),
        deviation=Deviation(rng.integers(0, WHOLE, capacity.shape), rng.integers(-1, 2, 3)),
        pairs=(BalancePair(0, 1, 2, 5), BalancePair(2, 0, 1, 3)),
        price=rng.integers(0, 500, machines),
        moves=Moves(
            process=rng.integers(0, 9, processes),
            distance=rng.integers(0, 5, (machines, machines)).astype(np.int32),
            distance_weight=3,
            service_weight=40,
        ),
    )
