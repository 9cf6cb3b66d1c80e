"""A recorded past beside its simulation: the same numbers of both, and where they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import structs

from restow.kube.duration import MILLISECOND
from restow.kube.timestamps import SECOND
from restow.reporting.simulation_document import (
    PastNumber,
    PastWorkload,
    RecordedPast,
    RecordingGapResult,
    SimulationResult,
)
from restow.simulating.replaying.replay import ReplayedSpan
from restow.simulating.scenarios.observations import workload_of
from restow.simulating.scenarios.references import Reference
from restow.simulating.scenarios.run_record import CPU_SPREAD, MEMORY_SPREAD, NODES_IN_USE, RunRecord, WorkloadCourse

_DIGITS: Final = 4
_NOTHING: Final = WorkloadCourse(0, {})


def with_past(
    result: SimulationResult, replay: ReplayedSpan, recorded: RunRecord, simulated: RunRecord
) -> SimulationResult:
    """Return a result with the past that it is the simulation of."""
    counts = dict(replay.counts())
    workloads = sorted(_workloads(recorded, simulated), key=_difference, reverse=True)
    past = RecordedPast(
        events=counts,
        left_out=counts.get("evict", 0) if result.metadata.policy else 0,
        numbers=tuple(_numbers(recorded, simulated)),
        workloads=tuple(each for each in workloads if _has_news(each)),
        placed=sum(each.recorded_pods for each in workloads),
        same_node=sum(each.same_node for each in workloads),
        gaps=tuple(_gaps(replay)),
    )
    return structs.replace(result, past=past)


def _numbers(recorded: RunRecord, simulated: RunRecord) -> Iterator[PastNumber]:
    both = zip(_of_run(recorded).items(), _of_run(simulated).values(), strict=True)
    yield from (PastNumber(name, round(one, _DIGITS), round(other, _DIGITS)) for (name, one), other in both)


def _of_run(record: RunRecord) -> Mapping[str, float]:
    last = record.samples.last
    return {
        "newPods": sum(each.came for each in record.workloads.values()),
        "evictions": len(record.evictions),
        "inVain": sum(each.landing == "returned" for each in record.evictions),
        "movedAgain": sum(each.is_again for each in record.evictions),
        "pendingPodSeconds": record.waiting.total / SECOND,
        "longestPendingSeconds": record.waiting.longest / SECOND,
        "belowSeconds": sum(each.total for each in record.disruptions.values()) / SECOND,
        "nodes": record.size.nodes,
        "pods": record.size.pods,
        "nodesInUse": last[NODES_IN_USE],
        "cpuSpread": last[CPU_SPREAD],
        "memorySpread": last[MEMORY_SPREAD],
    }


def _workloads(recorded: RunRecord, simulated: RunRecord) -> Iterator[PastWorkload]:
    names = dict.fromkeys((*recorded.workloads, *simulated.workloads, *recorded.disruptions, *simulated.disruptions))
    evicted = [_evicted(each) for each in (recorded, simulated)]
    for name in sorted(names, key=str):
        one, other = (each.workloads.get(name, _NOTHING) for each in (recorded, simulated))
        below = [each.disruptions[name].total if name in each.disruptions else 0 for each in (recorded, simulated)]
        yield PastWorkload(
            workload=str(name),
            recorded_new_pods=one.came,
            simulated_new_pods=other.came,
            recorded_evictions=evicted[0][name],
            simulated_evictions=evicted[1][name],
            recorded_below_seconds=round(below[0] / SECOND, 3),
            simulated_below_seconds=round(below[1] / SECOND, 3),
            recorded_pods=sum(one.placed.values()),
            simulated_pods=sum(other.placed.values()),
            same_node=(Counter(one.placed) & Counter(other.placed)).total(),
        )


def _evicted(record: RunRecord) -> Counter[Reference]:
    return Counter(workload_of(each.pod) or Reference("Pod", *each.pod.key) for each in record.evictions)


def _difference(each: PastWorkload) -> tuple[float, ...]:
    """How much a workload differs between the two: in pods, in evictions, in time below its wanted pods."""
    return (
        abs(each.recorded_new_pods - each.simulated_new_pods) + abs(each.recorded_pods - each.simulated_pods),
        abs(each.recorded_evictions - each.simulated_evictions),
        abs(each.recorded_below_seconds - each.simulated_below_seconds),
        each.recorded_pods - each.same_node,
    )


def _has_news(each: PastWorkload) -> bool:
    numbers: Iterable[float] = structs.astuple(each)[1:7]
    return any(numbers) or each.same_node < max(each.recorded_pods, each.simulated_pods)


def _gaps(replay: ReplayedSpan) -> Iterator[RecordingGapResult]:
    for each in replay.span.gaps:
        since, until = ((at * MILLISECOND - replay.begins) / SECOND for at in (each.since, each.until))
        yield RecordingGapResult(round(max(since, 0.0), 3), round(until, 3), each.kind)
