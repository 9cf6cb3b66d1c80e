"""From a finished run to its document; times become seconds, and objects get the scenario's names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from restow.documents.findings import path_text
from restow.kube.manifests import kind_of
from restow.kube.timestamps import SECOND, format_time
from restow.reporting.simulation_document import (
    BudgetTotals,
    EvictionRefusal,
    EvictionTotals,
    ExpectationResult,
    HappenedEvent,
    LoopedWorkloadResult,
    LoopResult,
    MadeEviction,
    MishapResult,
    SampledNumbers,
    SimulationInputs,
    SimulationMetadata,
    SimulationResult,
    SimulationSummary,
    UnknownPlacementResult,
    WorkloadTotals,
)
from restow.simulating.scenarios import run_record
from restow.simulating.scenarios.events import Apply, TimedEvent
from restow.simulating.scenarios.judging import ExpectationVerdict
from restow.simulating.scenarios.landings import TrackedEviction
from restow.simulating.scenarios.loops import EvictionLoop
from restow.simulating.scenarios.observations import workload_of
from restow.simulating.scenarios.references import Reference
from restow.simulating.scenarios.running import Finished
from restow.simulating.scenarios.scenario import Scenario
from restow.version import __version__

_DIGITS: Final = 4


@dataclass(slots=True, frozen=True)
class RunNames:
    """What a run is called, and what it came from."""

    scenario: str
    #: Empty if there is no descheduler.
    policy: str
    inputs: SimulationInputs


def simulation_result(scenario: Scenario, finished: Finished, names: RunNames) -> SimulationResult:
    """Return the document about a run of a scenario."""
    evictions = tuple(map(made_eviction, finished.record.evictions))
    refusals = tuple(
        EvictionRefusal(_seconds(each.time - finished.begins), str(each.move.pod), each.move.plugin, each.code)
        for each in finished.refusals
    )
    return SimulationResult(
        metadata=_metadata(scenario, finished, names),
        summary=_summary(finished),
        events=tuple(_events(scenario, finished.duration)),
        evictions=evictions,
        refusals=refusals,
        strategies=tuple(_strategies(evictions, refusals)),
        workloads=tuple(_workloads(finished)),
        budgets=tuple(_budgets(finished)),
        samples=_samples(finished),
        expectations=tuple(map(_expectation, finished.verdicts)),
        mishaps=tuple(
            MishapResult(_seconds(each.time - finished.begins), path_text(each.place) or "recording", each.message)
            for each in finished.failed_events
        ),
        loops=tuple(loop_results(finished.record.loops)),
        unknown=tuple(
            UnknownPlacementResult(_seconds(each.time - finished.begins), "/".join(each.pod), each.why)
            for each in finished.unknown
        ),
        inputs=names.inputs,
    )


def _seconds(nanoseconds: int) -> float:
    return round(nanoseconds / SECOND, 3)


def _metadata(scenario: Scenario, finished: Finished, names: RunNames) -> SimulationMetadata:
    placement = scenario.descheduling.placement if scenario.descheduling else ""
    return SimulationMetadata(
        scenario=names.scenario,
        description=scenario.description,
        policy=names.policy,
        placement=placement,
        begins=format_time(finished.begins),
        seconds=_seconds(finished.duration),
        seed=scenario.seed,
        restow_version=__version__,
        ready_after_seconds=_seconds(scenario.kubelets.pull + scenario.kubelets.start + scenario.kubelets.ready),
    )


def _summary(finished: Finished) -> SimulationSummary:
    record, outcomes = finished.record, Counter(each.outcome for each in finished.verdicts)
    return SimulationSummary(
        nodes=record.size.nodes,
        pods=record.size.pods,
        evictions=len(record.evictions),
        refused=len(finished.refusals),
        most_pending=record.waiting.most,
        longest_pending_seconds=_seconds(record.waiting.longest),
        pending_pod_seconds=_seconds(record.waiting.total),
        nodes_in_use=int(record.samples.last[run_record.NODES_IN_USE]),
        cpu_spread=round(record.samples.last[run_record.CPU_SPREAD], _DIGITS),
        memory_spread=round(record.samples.last[run_record.MEMORY_SPREAD], _DIGITS),
        quiet_after_seconds=_seconds(record.changed) if finished.is_stable else None,
        met=outcomes["met"],
        failed=outcomes["failed"],
        undecided=outcomes["undecided"],
    )


def _events(scenario: Scenario, duration: int) -> Iterator[HappenedEvent]:
    for event in scenario.events:
        if event.at <= duration and event.place:
            written = scenario.document.data["events"][event.place[-1]]
            yield HappenedEvent(_seconds(event.at), _event_text(event, written))
        elif event.at <= duration and event.text:
            yield HappenedEvent(max(_seconds(event.at), 0.0), event.text)


def _event_text(event: TimedEvent, written: Mapping[str, Any]) -> str:
    """An event in the words of the scenario: ``scale deployment/web to 6``."""
    what = written[event.word]
    if isinstance(event.action, Apply) and not isinstance(what, str):
        what = ", ".join(f"{kind_of(each).lower()}/{each.metadata.name}" for each in event.action.manifests)
    more = (f" {key} {_plain(written[key])}" for key in ("to", "with", "cascade") if written.get(key) is not None)
    return f"{event.word} {what}{''.join(more)}"


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        # What is taken away is written as kubectl does.
        return ", ".join(f"{key}-" if each is None else f"{key}={each}" for key, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def made_eviction(eviction: TrackedEviction) -> MadeEviction:
    """Return an eviction as the document has it."""
    return MadeEviction(
        at=_seconds(eviction.time),
        pod="/".join(eviction.pod.key),
        workload=_workload_name(eviction),
        by=eviction.by[0],
        node=eviction.pod.node,
        result=eviction.landing,
        replacement=eviction.replacement,
        replacement_node=eviction.node,
        again=eviction.is_again,
    )


def _workload_name(eviction: TrackedEviction) -> str:
    return str(workload_of(eviction.pod) or Reference("Pod", *eviction.pod.key))


def _strategies(evictions: Iterable[MadeEviction], refusals: Iterable[EvictionRefusal]) -> Iterator[EvictionTotals]:
    """Those who evicted most first."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in evictions:
        counts[each.by].update({"evicted": 1, each.result: 1, "again": int(each.again)})
    for refusal in refusals:
        counts[refusal.by]["refused"] += 1
    for by, count in sorted(counts.items(), key=lambda item: (-item[1]["evicted"], item[0])):
        yield EvictionTotals(by, *(count[name] for name in EvictionTotals.__struct_fields__[1:]))


def _workloads(finished: Finished) -> Iterator[WorkloadTotals]:
    """Those with the longest time below their wanted replicas first; workloads to which nothing happened are left out."""
    evicted = Counter(map(_workload_name, finished.record.evictions))
    again = Counter(_workload_name(each) for each in finished.record.evictions if each.is_again)
    disruptions = {str(name): each for name, each in finished.record.disruptions.items()}
    totals = []
    for name in evicted.keys() | disruptions.keys():
        below = disruptions.get(name)
        spans = (0.0, 0.0) if below is None else (_seconds(below.total), _seconds(below.longest))
        totals.append(WorkloadTotals(name, evicted[name], again[name], *spans))
    yield from sorted(totals, key=lambda each: (-each.below_seconds, -each.evicted, each.workload))


def _budgets(finished: Finished) -> Iterator[BudgetTotals]:
    """Those that let no pod go for longest first."""
    found = finished.record.blocked_budgets.items()
    for key, each in sorted(found, key=lambda item: (-item[1].total, item[0])):
        yield BudgetTotals("/".join(key), _seconds(each.total), _seconds(each.longest))


def _samples(finished: Finished) -> SampledNumbers:
    samples = finished.record.samples
    rounded = {name: tuple(round(each, _DIGITS) for each in numbers) for name, numbers in samples.numbers.items()}
    return SampledNumbers(
        every_seconds=_seconds(samples.every),
        pending=tuple(map(int, rounded[run_record.PENDING])),
        nodes_in_use=tuple(map(int, rounded[run_record.NODES_IN_USE])),
        cpu_spread=rounded[run_record.CPU_SPREAD],
        memory_spread=rounded[run_record.MEMORY_SPREAD],
    )


def _expectation(verdict: ExpectationVerdict) -> ExpectationResult:
    expectation = verdict.expectation
    return ExpectationResult(
        path=path_text(expectation.place),
        text=expectation.text,
        modality=expectation.modality,
        result=verdict.outcome,
        at=_seconds(verdict.time),
        number=round(verdict.number, _DIGITS),
        objects=verdict.objects,
    )


def loop_results(loops: Iterable[EvictionLoop]) -> Iterator[LoopResult]:
    """Yield each loop as the document has it."""
    for loop in loops:
        workloads = (
            LoopedWorkloadResult(str(each.workload), each.moved, each.scaled, each.nodes) for each in loop.workloads
        )
        since, until, period = (round(each / SECOND, 3) for each in (loop.since, loop.until, loop.period))
        yield LoopResult(since, until, loop.rounds, period, loop.by, tuple(workloads))
