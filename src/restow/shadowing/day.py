"""What a shadow has seen in one day: the evictions of others, and what restow would have done instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from restow.policies.codes import Certainty
from restow.shadowing.outcomes import EvictionOutcome, ForeignEviction


class EvictionCounts(Struct, frozen=True, rename="camel"):
    """Evictions by others; each has one outcome."""

    total: int = 0
    moved: int = 0
    in_vain: int = 0
    pending: int = 0
    unreplaced: int = 0
    open: int = 0
    #: Those of pods that had themselves replaced an evicted pod within the hour; each of them has an outcome too.
    repeated: int = 0
    #: After how many the workload had no ready pod for a time, and the sum of these times.
    downtimes: int = 0
    seconds_down: float = 0.0


@dataclass(slots=True, frozen=True)
class OwnMove:
    """A move that restow would have made, as it was first planned."""

    #: Seconds since the epoch.
    at: float
    certainty: Certainty | None


@dataclass(slots=True, frozen=True)
class ShadowDay:
    """One day, or the part of it that was watched; times are seconds since the epoch."""

    since: float
    until: float
    #: In the order in which they were seen.
    evictions: Sequence[ForeignEviction] = ()
    #: By the uid of the pod.
    moves: Mapping[str, OwnMove] = field(default_factory=dict)


def count(evictions: Iterable[ForeignEviction], now: float) -> EvictionCounts:
    """Count evictions by their outcome at a time."""
    found = list(evictions)
    outcomes = Counter(each.outcome(now) for each in found)
    return EvictionCounts(
        total=len(found),
        moved=outcomes[EvictionOutcome.MOVED],
        in_vain=outcomes[EvictionOutcome.IN_VAIN],
        pending=outcomes[EvictionOutcome.PENDING],
        unreplaced=outcomes[EvictionOutcome.UNREPLACED],
        open=outcomes[EvictionOutcome.OPEN],
        repeated=sum(each.is_repeated for each in found),
        downtimes=sum(each.downtime(now) > 0 for each in found),
        seconds_down=round(sum(each.downtime(now) for each in found), 3),
    )


def headline(counts: EvictionCounts, moves: int) -> str:
    """Say what a day came to; ``moves`` are restow's own."""
    own = f"restow would have made {_counted(moves, 'move')}."
    if not counts.total:
        return f"No pod was evicted by others; {own}"
    parts = [f"{counts.in_vain:,} came back to their node"]
    parts += [f"{counts.pending:,} left a pod pending"] if counts.pending else []
    parts += [f"{counts.repeated:,} hit a pod that had just been moved"] if counts.repeated else []
    parts += [f"{counts.downtimes:,} left a workload without a ready pod"] if counts.downtimes else []
    return f"Of {_counted(counts.total, 'eviction')} {', '.join(parts)}; {own}"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
