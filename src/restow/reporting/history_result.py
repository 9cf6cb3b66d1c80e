"""What a descheduler did and whether it helped: the document of ``restow history -o json``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from statistics import median
from typing import Any, Final

from msgspec import Struct

from restow.descheduling.plan import API_VERSION
from restow.history.records import CycleRecord, MoveRecord
from restow.kube.duration import SECOND
from restow.kube.timestamps import format_time
from restow.version import __version__

#: More points of a course are not shown.
_MOST_CYCLES: Final = 300


class HistoryMetadata(Struct, frozen=True, rename="camel"):
    """Which file, and which part of it."""

    file: str
    since: str
    until: str
    restow_version: str


class MoveCounts(Struct, frozen=True, rename="camel"):
    """Moves by what became of them."""

    #: Evicted pods; the next five are of these.
    evicted: int = 0
    #: The replacement landed on the planned node, on another good one, or on neither; upstream placement has no plan for that.
    on_target: int = 0
    on_other: int = 0
    missed: int = 0
    #: The replacement was not seen to be ready.
    not_ready: int = 0
    #: The pod was itself the replacement of a move in the same time.
    again: int = 0
    #: Not evicted, because the cluster had changed, the budget had no room, or the API server refused.
    dropped: int = 0
    blocked: int = 0
    failed: int = 0
    #: Left to another component.
    requested: int = 0
    #: In a dry run; a pod that several cycles plan to move counts each time.
    planned: int = 0

    @property
    def held(self) -> int:
        """How many were to be evicted and were not."""
        return self.dropped + self.blocked + self.failed


class CycleCounts(Struct, frozen=True, rename="camel"):
    """Cycles by result."""

    total: int
    done: int
    skipped: int
    failed: int


class SpreadOverTime(Struct, frozen=True):
    """How unevenly a resource was requested before the first cycle, and as the last one left or planned it."""

    resource: str
    before: float
    after: float


class SpreadAt(Struct, frozen=True):
    """How unevenly resources were requested as a cycle left or planned it; null where that is not known."""

    at: str
    cpu: float | None
    memory: float | None


class GroupOfMoves(Struct, frozen=True, rename="camel"):
    """The moves of a strategy or of a workload."""

    name: str
    moves: MoveCounts
    #: From the eviction to the readiness of the replacement; null where none was ready.
    median_seconds_to_ready: float | None


class PastMove(Struct, frozen=True, rename="camel"):
    """One move."""

    at: str
    namespace: str
    pod: str
    workload: str
    strategy: str
    reason: str
    source: str
    target: str
    certainty: str
    steered: bool
    result: str
    code: str
    message: str
    replacement: str
    landed: str
    landing: str
    seconds_to_ready: float | None


class HistoryReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was done in a time."""

    api_version: str = API_VERSION
    kind: str = "History"
    metadata: HistoryMetadata
    cycles: CycleCounts
    moves: MoveCounts
    spread: tuple[SpreadOverTime, ...]
    #: The oldest first; of many cycles, some at equal distances and the last one.
    balance: tuple[SpreadAt, ...]
    strategies: tuple[GroupOfMoves, ...]
    #: Those with the most evictions first.
    workloads: tuple[GroupOfMoves, ...]
    #: The last one first.
    listed: tuple[PastMove, ...]


def history_report(
    file: str, since: float, until: float, cycles: Sequence[CycleRecord], moves: Sequence[MoveRecord]
) -> HistoryReport:
    """Return what records of a time come to; times are seconds since the epoch."""
    replacements = {(each.namespace, each.replacement) for each in moves if each.replacement}
    results = Counter(each.result for each in cycles)
    metadata = HistoryMetadata(file, _time(since), _time(until), __version__)
    return HistoryReport(
        metadata=metadata,
        cycles=CycleCounts(len(cycles), results["done"], results["skipped"], results["failed"]),
        moves=_counts(moves, replacements),
        spread=tuple(_spread(cycles)),
        balance=tuple(_balance(cycles)),
        strategies=tuple(_groups(moves, replacements, lambda each: each.strategy)),
        workloads=tuple(_groups(moves, replacements, _workload)),
        listed=tuple(_past(each) for each in reversed(moves)),
    )


_Names = set[tuple[str, str]]


def _counts(moves: Iterable[MoveRecord], replacements: _Names) -> MoveCounts:
    found = list(moves)
    results = Counter(each.result for each in found)
    evicted = [each for each in found if each.result in ("evicted", "moved")]
    landings = Counter(each.landing for each in evicted)
    return MoveCounts(
        evicted=len(evicted),
        on_target=landings["target"],
        on_other=landings["other"],
        missed=landings["missed"],
        not_ready=results["evicted"],
        again=sum((each.namespace, each.pod) in replacements for each in evicted),
        dropped=results["dropped"],
        blocked=results["blocked"],
        failed=results["failed"],
        requested=results["requested"],
        planned=results["planned"],
    )


def _groups(moves: Iterable[MoveRecord], replacements: _Names, name: Callable[[MoveRecord], str]) -> list[GroupOfMoves]:
    groups = groupby(sorted(moves, key=name), key=name)
    found = [_group(each, list(own), replacements) for each, own in groups]
    return sorted(found, key=lambda each: (-each.moves.evicted, -each.moves.planned, each.name))


def _group(name: str, moves: list[MoveRecord], replacements: _Names) -> GroupOfMoves:
    seconds = [each.ready_at - each.at for each in moves if each.ready_at is not None]
    return GroupOfMoves(name, _counts(moves, replacements), round(median(seconds), 3) if seconds else None)


def _workload(move: MoveRecord) -> str:
    return f"{move.namespace}/{move.workload or move.pod}"


def _spread(cycles: Sequence[CycleRecord]) -> list[SpreadOverTime]:
    done = [each for each in cycles if each.spread]
    if not done:
        return []
    first, last = done[0].spread, done[-1].spread
    return [
        SpreadOverTime(name, first[name][0], last[name][1])
        for name in ("cpu", "memory")
        if {name} <= first.keys() & last.keys()
    ]


def _balance(cycles: Sequence[CycleRecord]) -> Iterator[SpreadAt]:
    """Yield the spread after each cycle that was done, or after some of them."""
    done = [each for each in cycles if each.spread]
    step = -(-len(done) // _MOST_CYCLES) or 1
    # Counted from the end, so that the last one is there.
    for each in done[::-1][::step][::-1]:
        cpu, memory = (each.spread[name][1] if name in each.spread else None for name in ("cpu", "memory"))
        yield SpreadAt(_time(each.ended), cpu, memory)


def _past(move: MoveRecord) -> PastMove:
    known: dict[str, Any] = {
        name: getattr(move, name) for name in PastMove.__struct_fields__ if name not in ("at", "seconds_to_ready")
    }
    ready = None if move.ready_at is None else round(move.ready_at - move.at, 3)
    return PastMove(at=_time(move.at), seconds_to_ready=ready, **known)


def _time(seconds: float) -> str:
    return format_time(int(seconds * SECOND))
