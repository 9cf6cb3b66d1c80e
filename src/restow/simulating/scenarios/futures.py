"""One run in a few numbers, to compare it with others: the same cluster with another policy, or with other chances."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from restow.kube.timestamps import SECOND
from restow.simulating.scenarios.recording import CPU_SPREAD, MEMORY_SPREAD, NODES_IN_USE
from restow.simulating.scenarios.running import Finished, RunEnding, Tick, run_out
from restow.simulating.scenarios.scenario import Scenario
from restow.simulating.scenarios.scenario_run import ScenarioConfig, begin

_DIGITS: Final = 4


class Future(Struct, frozen=True, rename="camel"):
    """The numbers of one run; for all except the seed, less is better."""

    #: What chance followed from.
    seed: int
    evictions: int
    #: Evicted pods whose replacement landed on the node that they had left.
    in_vain: int
    #: Evicted pods that had themselves replaced evicted ones.
    moved_again: int
    #: Seconds that pods were without a node, all together.
    pending_pod_seconds: float
    #: Seconds that workloads had fewer ready pods than they want, in total.
    below_seconds: float
    #: At the end, as are the two after it.
    nodes_in_use: int
    cpu_spread: float
    memory_spread: float
    #: When a pod or a node changed last, in seconds; None where the cluster was not quiet at the end.
    quiet_after_seconds: float | None
    #: Expectations that failed.
    failed: int


def future_of(scenario: Scenario, config: ScenarioConfig, now: int, ending: RunEnding, tick: Tick) -> Future:
    """Run a scenario; errors as ``begin`` and ``run_out``."""
    return _numbers(scenario.seed, run_out(scenario, begin(scenario, config, now), ending, tick))


def _numbers(seed: int, finished: Finished) -> Future:
    record = finished.record
    last = {name: round(number, _DIGITS) for name, number in record.samples.last.items()}
    return Future(
        seed=seed,
        evictions=len(record.evictions),
        in_vain=sum(each.landing == "returned" for each in record.evictions),
        moved_again=sum(each.is_again for each in record.evictions),
        pending_pod_seconds=_seconds(record.waiting.total),
        below_seconds=_seconds(sum(each.below for each in record.disruptions.values())),
        nodes_in_use=int(last[NODES_IN_USE]),
        cpu_spread=last[CPU_SPREAD],
        memory_spread=last[MEMORY_SPREAD],
        quiet_after_seconds=_seconds(record.changed) if finished.is_stable else None,
        failed=sum(each.outcome == "failed" for each in finished.verdicts),
    )


def _seconds(nanoseconds: int) -> float:
    return round(nanoseconds / SECOND, 3)
