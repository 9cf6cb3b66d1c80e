"""What happened in a simulation and when, in lines; and the pods that were moved more than once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from restow.reporting.simulation_wording import short_name
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from restow.reporting.simulation_document import MadeEviction, SimulationResult

#: Workloads that one line about evictions names.
_MOST_NAMED: Final = 3


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
