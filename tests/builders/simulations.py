"""Results of simulations as the renderers get them: eventful ones to look at, long ones to measure."""

from __future__ import annotations

from random import Random

from msgspec import structs

from restow.reporting.simulation_document import (
    BudgetTotals,
    EvictionTotals,
    ExpectationResult,
    HappenedEvent,
    MadeEviction,
    MishapResult,
    SampledNumbers,
    SimulationMetadata,
    SimulationResult,
    SimulationSummary,
    WorkloadTotals,
)

METADATA = SimulationMetadata("node.yaml", "A node comes and goes", "policy.yaml", "prove", "", 3600, 7, "", 2.0)
SUMMARY = SimulationSummary(3, 9, 5, 1, 4, 12.5, 40, 3, 0.1, 0.1, 1830, 1, 1, 1)
SAMPLES = SampledNumbers(600, (0, 4, 1, 0, 0, 0, 0), (3, 3, 2, 2, 3, 3, 3), *2 * [(0.0, 0.1, 0.2, 0.3, 0.2, 0.1, 0.1)])
CALM = SimulationResult(METADATA, SUMMARY, (), (), (), (), (), (), SAMPLES, (), ())


def an_eviction(at: float, workload: str, by: str = "RemoveDuplicates") -> MadeEviction:
    """An eviction of a pod of a workload, which moved."""
    return MadeEviction(at, "shop/web-1", workload, by, "n1", "moved", "web-2", "n2", again=False)


def an_expectation(modality: str, result: str, objects: tuple[str, ...] = ()) -> ExpectationResult:
    """An expectation and what came of it."""
    text = f"{modality} pods ready of deployment/web at least 3, after 10m0s, within 20m0s"
    return ExpectationResult("expect[0]", text, modality, result, 720, 2, objects)  # type: ignore[arg-type]


EVENTFUL = structs.replace(
    CALM,
    events=(HappenedEvent(600, "drain node-1"), HappenedEvent(1800, "uncordon node-1")),
    evictions=(
        an_eviction(600.0, "deployment/default/web", "drain"),
        *(an_eviction(1800.5 + each, f"deployment/shop/web-{each % 5}") for each in range(12)),
        an_eviction(1900, "pod/shop/lonely"),
    ),
    strategies=(
        EvictionTotals("RemovePodsViolatingTopologySpreadConstraint", 14, 8, 3, 1, 1, 4, 2),
        EvictionTotals("drain", 1, 1, 0, 0, 0, 0, 0),
    ),
    workloads=tuple(WorkloadTotals(f"deployment/shop/web-{each}", 2, 1, 95, 30.5) for each in range(12)),
    budgets=(BudgetTotals("default/web", 1800, 90), BudgetTotals("shop/db", 30, 15)),
    expectations=tuple(
        an_expectation(modality, result, objects)
        for modality, result, objects in (
            ("eventually", "met", ("shop/web-1", "shop/web-2", "shop/web-3", "shop/web-4")),
            ("eventually", "failed", ()),
            ("always", "met", ("shop/web-1",)),
            ("never", "failed", ("shop/web-1",)),
            ("always", "undecided", ("shop/web-1",)),
        )
    ),
    mishaps=(MishapResult(900, "events[1]", "there is no node node-\x1b[31m9"),),
)


def a_long_result(evictions: int, *, seed: int = 1) -> SimulationResult:
    """A day of a cluster of 1,000 nodes, with many evictions of all outcomes, some of them again."""
    random, day, samples = Random(seed), 86400, 121
    made: list[MadeEviction] = []
    for number in range(evictions):
        earlier = made[random.randrange(len(made))] if made and random.random() < 0.3 else None
        pod = f"shop/{earlier.replacement}" if earlier else f"shop/web-{number}"
        by = ("RemoveDuplicates", "LowNodeUtilization", "drain")[min(int(random.expovariate(1.2)), 2)]
        outcome = random.choices(("moved", "returned", "waiting", "unreplaced"), (80, 15, 3, 2))[0]
        node, at = f"node-{random.randrange(1000)}", round(day * number / evictions, 3)
        workload = f"deployment/shop/web-{number % 700}"
        other = f"node-{random.randrange(1000)}"
        made.append(MadeEviction(at, pod, workload, by, node, outcome, f"web-{number}-new", other, again=bool(earlier)))
    totals = []
    for by in sorted({each.by for each in made}):
        own = [each for each in made if each.by == by]
        counts = [sum(each.result == kind for each in own) for kind in ("moved", "returned", "waiting", "unreplaced")]
        totals.append(EvictionTotals(by, len(own), *counts, sum(each.again for each in own), 3))
    spread = [round(0.3 - 0.002 * each + 0.02 * random.random(), 4) for each in range(samples)]
    return structs.replace(
        EVENTFUL,
        metadata=structs.replace(METADATA, seconds=day),
        summary=structs.replace(SUMMARY, nodes=1000, pods=20000, evictions=evictions),
        events=tuple(HappenedEvent(1800 * each, f"drain node-{each}") for each in range(48)),
        evictions=tuple(made),
        strategies=tuple(totals),
        workloads=tuple(WorkloadTotals(f"deployment/shop/web-{each}", 9, 3, 95, 30.5) for each in range(700)),
        budgets=tuple(BudgetTotals(f"shop/web-{each}", 1800, 90) for each in range(300)),
        samples=SampledNumbers(
            day / (samples - 1),
            tuple(int(random.expovariate(0.2)) for _ in range(samples)),
            tuple(960 + int(40 * random.random()) for _ in range(samples)),
            tuple(spread),
            tuple(each / 2 for each in spread),
        ),
    )
