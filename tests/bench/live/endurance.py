"""What a thousand cycles do to the memory of a small cluster's descheduler: nothing, if nothing is kept that piles up."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.live.clusters import control_plane
from bench.live.tables import LiveTable, Row, mebibytes
from builders.policies import Policy, strategy_policy
from e2e.crowds import crowd
from e2e.deschedulers import a_descheduler, evicted
from e2e.running import Descheduler
from e2e.waiting import wait_until

_CYCLES = (200, 600, 1000)
_PATIENCE = 1800.0
_CYCLE_DONE = "restow_cycles_total"


@dataclass(slots=True, frozen=True)
class Scene:
    """What each cycle does."""

    name: str
    policy: Policy


SCENES = (
    Scene("nothing to do", strategy_policy("RemoveDuplicates")),
    Scene(
        "an eviction in each",
        strategy_policy(
            "PodLifeTime",
            {"maxPodLifeTimeSeconds": 1},
            maxNoOfPodsToEvictTotal=1,
            restow={"placement": "upstream"},
        ),
    ),
)


def measure(directory: Path) -> Iterator[Row]:
    """A row for each scene."""
    for scene in SCENES:
        with control_plane() as plane:
            plane.add_nodes(5)
            crowd(plane, 3, 6)
            plane.audit.restart()
            flags = ["--descheduling-interval=20ms", "--v=0"]
            with a_descheduler(plane, "restow", scene.policy, directory, flags) as restow:
                memory = [_memory_after(cycles, restow) for cycles in _CYCLES]
                restow.send(signal.SIGTERM)
                restow.ended()
            yield (scene.name, f"{len(evicted(plane)):,}", *map(mebibytes, memory))


def _memory_after(cycles: int, restow: Descheduler) -> int:
    """RSS after so many cycles."""

    def done() -> bool:
        restow.check()
        return restow.is_ready() and restow.samples().total(_CYCLE_DONE) >= cycles

    wait_until(f"{cycles} cycles are done", done, _PATIENCE, every=0.5)
    return restow.rss()


TABLE = LiveTable(
    "endurance", ("each cycle", "evictions", *(f"RSS after {cycles:,} cycles" for cycles in _CYCLES)), measure
)
