"""Whether a dry run tells the truth: many on an unchanged cluster, and then the real run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench.live.clusters import LARGE, SMALL, Cluster, control_plane_for, reset
from bench.live.one_shots import LEAVE, LIMIT
from bench.live.tables import LiveTable, Row
from e2e.deschedulers import programs, run_once

#: Dry runs on each cluster: they cost seconds on the larger one.
_TIMES = ((SMALL, 20), (LARGE, 10))


def measure(directory: Path) -> Iterator[Row]:
    """A row for each cluster and program."""
    for cluster, times in _TIMES:
        with control_plane_for(cluster) as plane:
            for program in programs():
                reset(plane, cluster)
                dry = [
                    run_once(plane, program, LEAVE, directory, flags=["--dry-run"], limit=LIMIT) for _ in range(times)
                ]
                if any(each.answers for each in dry):
                    raise RuntimeError(f"a dry run of {program} evicts")
                real = run_once(plane, program, LEAVE, directory, limit=LIMIT)
                yield _row(cluster, program, [each.told for each in dry], set(real.evicted))


def _row(cluster: Cluster, program: str, dry: list[tuple[tuple[str, str], ...]], real: set[str]) -> Row:
    counts = Counter(len(told) for told in dry)
    true = sum({pod for pod, _ in told} == real for told in dry)
    return (
        f"{cluster}: {program}",
        ", ".join(f"{times} x {count:,}" for count, times in sorted(counts.items())),
        f"{len(real):,}",
        f"{true} of {len(dry)}",
    )


TABLE = LiveTable(
    "dry-run", ("cluster and program", "evictions in the dry runs", "in the real run", "the same pods"), measure
)
