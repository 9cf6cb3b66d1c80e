"""How long a workload is without a ready pod, where pods need ten seconds to start and cycles come every four."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.live.clusters import control_plane
from bench.live.tables import LiveTable, Row, seconds
from builders.policies import Policy, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.deschedulers import a_descheduler, evicted, programs
from e2e.outages import Outages
from e2e.placed import Placed, place
from e2e.workloads import replica_set

_INTERVAL, _READY, _WATCHED = "4s", "10s", 45.0
_REPLICAS = 2


@dataclass(slots=True, frozen=True)
class Scene:
    """What happens to the two replicas of ``web``, both on node-1."""

    name: str
    policy: Policy
    prepare: Callable[[ControlPlane], None]


def _taint(plane: ControlPlane) -> None:
    plane.admin.patch("Node", "node-1", {"spec": {"taints": [{"key": "example.com/leave", "effect": "NoSchedule"}]}})


def _age(_: ControlPlane) -> None:
    """Both are older than the policy allows when the first cycle begins."""
    time.sleep(15)


SCENES = (
    Scene("both replicas on a node that was tainted", strategy_policy("RemovePodsViolatingNodeTaints"), _taint),
    Scene(
        "replicas older than 15 s, one eviction a cycle",
        strategy_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 15}, maxNoOfPodsToEvictTotal=1),
        _age,
    ),
)


def measure(directory: Path) -> Iterator[Row]:
    """A row for each scene."""
    for scene in SCENES:
        told = [_watched(scene, program, directory) for program in programs()]
        yield (scene.name, *(f"{evictions}" for evictions, _ in told), *(seconds(gap) for _, gap in told))


def _watched(scene: Scene, program: str, directory: Path) -> tuple[int, float]:
    """Evictions, and the longest time without a ready pod."""
    with control_plane() as plane:
        plane.add_nodes(5)
        place(plane, [Placed(replica_set("web", _REPLICAS, annotations={"test/ready-delay": _READY}), ["node-1"] * 2)])
        scene.prepare(plane)
        plane.audit.restart()
        policy = scene.policy | {"restow": {"placement": "upstream"}}
        with (
            Outages(plane, "web") as outages,
            a_descheduler(plane, program, policy, directory, [f"--descheduling-interval={_INTERVAL}"]) as descheduler,
        ):
            time.sleep(_WATCHED)
            descheduler.send(signal.SIGTERM)
            descheduler.ended()
        return len(evicted(plane)), outages.longest


TABLE = LiveTable(
    "outages",
    (
        f"in {_WATCHED:.0f} s",
        "evictions: Descheduler",
        "restow",
        "longest time without a ready pod: Descheduler",
        "restow",
    ),
    measure,
)
