"""The same policy on the same cluster, once: which pods are evicted, how long it takes, how much memory it needs.

The policy's ``restow: {placement: upstream}`` is for restow alone; the Descheduler does not read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.live.clusters import LARGE, MEDIUM, SMALL, Cluster, control_plane_for, reset
from bench.live.history import fewest_ready
from bench.live.tables import LiveTable, Row, mebibytes, seconds
from builders.policies import Policy, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.deschedulers import Ran, programs, run_once

UPSTREAM = {"placement": "upstream"}
#: Seconds that a run may take; one eviction after another is slow.
LIMIT = 1200.0
_TEN_YEARS = 10 * 365 * 86_400

#: Evicts no pod.
IDLE: Policy = strategy_policy("PodLifeTime", {"maxPodLifeTimeSeconds": _TEN_YEARS}, restow=UPSTREAM)
#: Evicts the pods of the tainted nodes.
LEAVE: Policy = strategy_policy("RemovePodsViolatingNodeTaints", restow=UPSTREAM)


def measure(directory: Path) -> Iterator[Row]:
    """A row for each cluster and policy."""
    for cluster in (SMALL, MEDIUM, LARGE):
        with control_plane_for(cluster) as plane:
            for policy in (IDLE, LEAVE):
                yield _row(plane, cluster, policy, directory)


def _row(plane: ControlPlane, cluster: Cluster, policy: Policy, directory: Path) -> Row:
    theirs, ours = (_run(plane, cluster, program, policy, directory) for program in programs())
    ran = (theirs[0], ours[0])
    return (
        str(cluster),
        f"{len(ran[1].evicted):,}",
        "the same" if sorted(ran[0].evicted) == sorted(ran[1].evicted) else f"not the same: {len(ran[0].evicted):,}",
        *(seconds(each.wall) for each in ran),
        *(mebibytes(each.peak) for each in ran),
        *(_refused(each) for each in ran),
        *(str(cluster.replicas - fewest) for _, fewest in (theirs, ours)),
    )


def _run(plane: ControlPlane, cluster: Cluster, program: str, policy: Policy, directory: Path) -> tuple[Ran, int]:
    reset(plane, cluster)
    ran = run_once(plane, program, policy, directory, limit=LIMIT)
    if ran.status:
        raise RuntimeError(f"{program} ended with status {ran.status}: {ran.log[-2000:]}")
    return ran, fewest_ready(plane.audit, cluster.replicas)


def _refused(ran: Ran) -> str:
    """How often the API server said no, and what: ``3 x 429``."""
    return ", ".join(f"{times} x {status}" for status, times in sorted(ran.refusals.items())) or "0"


TABLE = LiveTable(
    "one-shot",
    (
        "cluster",
        "evictions",
        "pods",
        "time: Descheduler",
        "restow",
        "memory: Descheduler",
        "restow",
        "refused: Descheduler",
        "restow",
        "most of a workload not ready: Descheduler",
        "restow",
    ),
    measure,
)
