"""What the outputs of a simulation say of the recorded past beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from restow.reporting.simulation_wording import count_text, short_name, time_text
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from restow.reporting.simulation_document import PastWorkload, RecordedPast

_SPREAD: Final = "{:.2f}".format
#: What each number is called, and how it is written.
_NUMBERS: Final[Mapping[str, tuple[str, Callable[[float], str]]]] = {
    "newPods": ("new pods", count_text),
    "evictions": ("evictions", count_text),
    "inVain": ("in vain", count_text),
    "movedAgain": ("moved again", count_text),
    "pendingPodSeconds": ("pending, all pods", time_text),
    "longestPendingSeconds": ("pending, longest", time_text),
    "belowSeconds": ("below desired", time_text),
    "nodes": ("nodes at the end", count_text),
    "pods": ("pods at the end", count_text),
    "nodesInUse": ("nodes in use", count_text),
    "cpuSpread": ("CPU spread", _SPREAD),
    "memorySpread": ("memory spread", _SPREAD),
}
#: Of the rows of ``workload_rows``.
WORKLOAD_TITLES: Final = ("Recorded / simulated", "New pods", "Evicted", "Below desired", "Same node")


def number_rows(past: RecordedPast) -> list[tuple[str, str, str]]:
    """Return what each number is called, what it was, and what it is in the simulation."""
    return [
        (title, shown(each.recorded), shown(each.simulated))
        for each in past.numbers
        for title, shown in (_NUMBERS[each.name],)
    ]


def workload_rows(past: RecordedPast) -> list[tuple[str, ...]]:
    """Return the workloads in which the simulation differs from the past; the recorded number comes first, and equal ones are written once."""
    rows = (
        (
            short_name(each.workload),
            _both(each.recorded_new_pods, each.simulated_new_pods, count_text),
            _both(each.recorded_evictions, each.simulated_evictions, count_text),
            _both(each.recorded_below_seconds, each.simulated_below_seconds, time_text),
            f"{each.same_node:,} of {each.recorded_pods:,}",
        )
        for each in past.workloads
        if _differs(each)
    )
    return list(rows)


def _differs(each: PastWorkload) -> bool:
    times = (time_text(each.recorded_below_seconds), time_text(each.simulated_below_seconds))
    return (
        each.recorded_new_pods != each.simulated_new_pods
        or each.recorded_evictions != each.simulated_evictions
        or times[0] != times[1]
        or not each.recorded_pods == each.simulated_pods == each.same_node
    )


def _both(recorded: float, simulated: float, shown: Callable[[float], str]) -> str:
    one, other = shown(recorded), shown(simulated)
    return one if one == other else f"{one} / {other}"


def sentences(past: RecordedPast) -> Sequence[str]:
    """Return what the numbers do not say: landings, what was left out, and where the recording has gaps."""
    found = []
    if past.placed:
        found.append(f"{past.same_node:,} of {counted(past.placed, 'pod')} at the end are on the node of the past")
    if past.left_out:
        found.append(
            f"{counted(past.left_out, 'eviction')} by other clients left out, as the policy acts in their place"
        )
    found += [
        f"no {each.kind_of_objects or 'change'} was recorded from {time_text(each.since)} to {time_text(each.until)}"
        for each in past.gaps
    ]
    return found
