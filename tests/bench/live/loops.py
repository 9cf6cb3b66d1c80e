"""Evictions that gain nothing, cycle after cycle: how often each program makes them before it stops, if it does."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

from bench.live.clusters import control_plane
from bench.live.tables import LiveTable, Row
from e2e.control_plane import ControlPlane
from e2e.deschedulers import CYCLE_ENDS, a_descheduler, evicted
from e2e.loop_scenes import NODES, SCENES, Scene
from e2e.placed import place

_CYCLES, _INTERVAL = 8, "2s"


def measure(directory: Path) -> Iterator[Row]:
    """A row for each scene: evictions in all cycles together."""
    with control_plane() as plane:
        plane.add_nodes(len(NODES))
        for scene in SCENES:
            yield (
                scene.name,
                *(
                    f"{_evictions(plane, scene, program, placement, directory):,}"
                    for program, placement in (("Descheduler", "upstream"), ("restow", "upstream"), ("restow", "prove"))
                ),
            )


def _evictions(plane: ControlPlane, scene: Scene, program: str, placement: str, directory: Path) -> int:
    plane.clear("default")
    place(plane, scene.workloads())
    plane.audit.restart()
    policy = scene.policy() | {"restow": {"placement": placement}}
    with a_descheduler(plane, program, policy, directory, [f"--descheduling-interval={_INTERVAL}"]) as descheduler:
        descheduler.wait_for_line(CYCLE_ENDS, times=_CYCLES, timeout=120)
        descheduler.send(signal.SIGTERM)
        descheduler.ended()
    return len(evicted(plane))


TABLE = LiveTable(
    "loops", (f"in {_CYCLES} cycles", "Descheduler", "restow, `upstream` placement", "restow, `prove`"), measure
)
