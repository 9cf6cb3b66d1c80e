"""Where the replacements of proven moves land, with the real scheduler and no other writer."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

from bench.live.clusters import MEDIUM, SMALL, Cluster, control_plane_for, reset
from bench.live.one_shots import LIMIT
from bench.live.tables import LiveTable, Row
from builders.policies import Policy, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.deschedulers import CYCLE_ENDS, a_descheduler
from e2e.running import Samples

#: Moves of one cycle.
_MOST = 300
_PREDICTIONS = "restow_predictions_total"


def measure(directory: Path) -> Iterator[Row]:
    """A row for each cluster and certainty that the policy asks for."""
    for cluster in (SMALL, MEDIUM):
        with control_plane_for(cluster) as plane:
            for certainty in ("certain", "possible"):
                yield _row(f"{cluster}, `certainty: {certainty}`", _landings(plane, cluster, certainty, directory))


def _landings(plane: ControlPlane, cluster: Cluster, certainty: str, directory: Path) -> Samples:
    reset(plane, cluster)
    policy: Policy = strategy_policy(
        "RemovePodsViolatingNodeTaints",
        maxNoOfPodsToEvictTotal=_MOST,
        restow={"placement": "prove", "certainty": certainty},
    )
    with a_descheduler(plane, "restow", policy, directory, ["--descheduling-interval=1h"]) as restow:
        restow.wait_for_line(CYCLE_ENDS, timeout=LIMIT)
        samples = restow.samples()
        restow.send(signal.SIGTERM)
        restow.ended()
    return samples


def _row(name: str, samples: Samples) -> Row:
    def told(*results: str) -> str:
        return f"{sum(samples.total(_PREDICTIONS, result=each) for each in results):,.0f}"

    evictions = samples.total("restow_moves_total", result="evicted")
    return name, f"{evictions:,.0f}", told("hit"), told("miss"), told("missing"), told("void")


TABLE = LiveTable("landings", ("cluster", "evictions", "hits", "misses", "not ready in time", "void"), measure)
