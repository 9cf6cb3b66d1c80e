"""What the outputs of a simulation call things: its columns, times, workloads and verdicts, and what happened when.

Tables, charts and pages show the same document (``simulation_document``). Each column is declared here once: the field of the
document, the heading, and how a value is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from restow.descheduling.pod_criteria import short_duration
from restow.reporting.wording import counted
from restow.simulating.scenarios.references import DEFAULT_NAMESPACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from msgspec import Struct

    from restow.reporting.simulation_document import (
        ExpectationResult,
        MadeEviction,
        SimulationMetadata,
        SimulationResult,
    )


#: Of objects that a verdict counts, and of workloads that one line about evictions names.
_MOST_OBJECTS, _MOST_NAMED = 3, 3


def time_text(seconds: float) -> str:
    """A time of the run: ``1h10m``, ``0.3s``."""
    return short_duration(round(seconds)) if seconds >= 1 or not seconds else f"{seconds:.1g}s"


def assumed(metadata: SimulationMetadata) -> str:
    """What no cluster says, and every time in a result rests on."""
    return (
        f"pods are ready {time_text(metadata.ready_after_seconds)} after they get a node, unless annotations say else"
    )


def short_name(workload: str) -> str:
    """A workload as a scenario may call it too: without the namespace that it has by default."""
    kind, *rest = workload.split("/")
    return "/".join([kind, *(rest[1:] if len(rest) == 2 and rest[0] == DEFAULT_NAMESPACE else rest)])


def verdict_text(result: ExpectationResult) -> str:
    """The verdict on an expectation, and what was counted if that helps."""
    at = time_text(result.at)
    objects = ", ".join(result.objects[:_MOST_OBJECTS])
    more = f" and {len(result.objects) - _MOST_OBJECTS:,} more" if len(result.objects) > _MOST_OBJECTS else ""
    details = f"counted {result.number:,.4g}{f': {objects}{more}' if objects else ''}"
    match result.modality, result.result:
        case _, "undecided":
            return f"the run ended too early to tell; {details}"
        case "eventually", "met":
            return f"met at {at}, {details}"
        case "eventually", _:
            return f"not met by {at}, {details}"
        case _, "met":
            return f"held until {at}"
        case _:
            return f"broken at {at}, {details}"


#: A spread that is smaller than this everywhere is not drawn as if it were a large one.
LEAST_SPREAD: Final = 0.1
#: The verdicts on expectations.
MARKS: Final = {"met": "✓", "failed": "✗", "undecided": "?"}


def count_text(number: float) -> str:
    """Write a count: ``1,200``."""
    return f"{number:,.10g}"


@dataclass(slots=True, frozen=True)
class TableColumn:
    """What tables, charts and pages call a field of the document, and how they write it; ``-o json`` has the bare field."""

    field: str
    title: str
    shown: Callable[..., str] = count_text

    def text(self, row: Struct) -> str:
        """Write the field of a row."""
        return self.shown(getattr(row, self.field))


#: Of ``EvictionTotals``.
EVICTED_BY: Final = (
    TableColumn("by", "Evicted by", str),
    TableColumn("evicted", "Pods"),
    TableColumn("moved", "Moved"),
    TableColumn("returned", "In vain"),
    TableColumn("waiting", "Waiting"),
    TableColumn("unreplaced", "Not replaced"),
    TableColumn("again", "Again"),
    TableColumn("refused", "Refused"),
)
#: Of ``WorkloadTotals``.
DISRUPTED: Final = (
    TableColumn("workload", "Workload", short_name),
    TableColumn("evicted", "Evicted"),
    TableColumn("again", "Again"),
    TableColumn("below_seconds", "Below desired", time_text),
    TableColumn("longest_below_seconds", "Longest", time_text),
)
#: Of ``BudgetTotals``.
AT_ZERO: Final = (
    TableColumn("budget", "Budget", lambda name: short_name(f"pdb/{name}")),
    TableColumn("zero_seconds", "At zero", time_text),
    TableColumn("longest_zero_seconds", "Longest", time_text),
)
#: Of ``SampledNumbers``, which has a sequence in each field.
SAMPLED: Final = (
    TableColumn("pending", "Pending pods"),
    TableColumn("nodes_in_use", "Nodes in use"),
    TableColumn("cpu_spread", "CPU spread", "{:.3f}".format),
    TableColumn("memory_spread", "Memory spread", "{:.3f}".format),
)


@dataclass(slots=True, frozen=True)
class Course:
    """A number over time, and what of it is worth saying."""

    title: str
    numbers: Sequence[float]
    details: str


def courses(result: SimulationResult) -> list[Course]:
    """Return what was sampled, in the order of ``SAMPLED``."""
    samples, summary = result.samples, result.summary
    low, high = min(samples.nodes_in_use), max(samples.nodes_in_use)
    details = (
        f"at most {summary.most_pending:,}, longest {time_text(summary.longest_pending_seconds)}",
        f"{low:,}" if low == high else f"{low:,} to {high:,}",
        _spread_text(samples.cpu_spread, summary.cpu_spread),
        _spread_text(samples.memory_spread, summary.memory_spread),
    )
    return [
        Course(column.title, getattr(samples, column.field), each)
        for column, each in zip(SAMPLED, details, strict=True)
    ]


def _spread_text(numbers: Sequence[float], last: float) -> str:
    return f"at most {max(*numbers, last):.2f}, {last:.2f} at the end"


def quiet_text(seconds: float | None) -> str:
    """Write when the last change of a pod or a node was; None is a cluster that was not quiet at the end."""
    return "not quiet at the end" if seconds is None else f"quiet since {time_text(seconds)}"


@dataclass(slots=True, frozen=True)
class Happening:
    """One line; ``at`` is in seconds."""

    at: float
    text: str


def happenings(result: SimulationResult) -> list[Happening]:
    """Return what happened in its order; evictions of one minute and strategy share a line."""
    lines = [(each.at, 0, each.text) for each in result.events]
    lines += [(each.at, 1, f"did not happen: {each.path}: {each.message}") for each in result.mishaps]
    lines += [(each.at, 1, f"{each.pod} stays pending: {each.message}") for each in result.unknown]
    lines += [(at, 2, text) for at, text in _evicted(result.evictions)]
    return [Happening(at, text) for at, _, text in sorted(lines, key=lambda each: each[:2])]


def _evicted(evictions: Iterable[MadeEviction]) -> Iterator[tuple[float, str]]:
    """Yield a line for what an actor evicted in one go: at one moment, or one pod after the other within a minute."""
    for (_, by), group in groupby(evictions, key=lambda each: (each.at // 60, each.by)):
        made = list(group)
        workloads = Counter(each.workload for each in made)
        named = ", ".join(f"{count:,} of {short_name(name)}" for name, count in workloads.most_common(_MOST_NAMED))
        more = f" and {len(workloads) - _MOST_NAMED:,} more" if len(workloads) > _MOST_NAMED else ""
        yield made[0].at, f"{by} evicts {counted(len(made), 'pod')}: {named}{more}"


def moved_again(evictions: Sequence[MadeEviction]) -> list[list[MadeEviction]]:
    """Return the evictions of each pod and of its replacements, where there are several; those with most come first."""
    following: dict[str, list[MadeEviction]] = {}
    courses = []
    for each in evictions:
        course = following.pop(each.pod, None) if each.again else None
        if course is None:
            course = []
            courses.append(course)
        course.append(each)
        if each.replacement:
            following[f"{each.pod.partition('/')[0]}/{each.replacement}"] = course
    return sorted((each for each in courses if len(each) > 1), key=lambda each: -len(each))
