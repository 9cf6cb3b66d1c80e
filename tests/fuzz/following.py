"""The state that ``restow run`` keeps, without the rest of it: follows every kind until all that was scripted has come."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence

from restow.cli.terminal import warn
from restow.client.connection import connect
from restow.cluster.state import ClusterState
from restow.live.cluster import live_cluster

#: Seconds for lists and watches; their pauses are shortened by the worker.
_PATIENCE = 0.7
_LOOK = 0.005

#: Whether the API server has told all; the worker sets it.
is_told: Callable[[], bool] = bool


def run(arguments: Sequence[str]) -> int:
    """Follow the cluster of a kubeconfig; 0, whatever came. What the state is made of is checked once more from nothing."""
    asyncio.run(_follow(arguments[0]))
    return 0


async def _follow(kubeconfig: str) -> None:
    async with connect(kubeconfig) as api, live_cluster(api, warn=lambda sentence: warn([sentence])) as live:
        end = asyncio.get_running_loop().time() + _PATIENCE
        await live.wait_ready(end)
        while not is_told() and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110 - the server has another loop
            await asyncio.sleep(_LOOK)
        cluster = live.snapshot()
        sys.stdout.write(f"{len(cluster.nodes.names)} nodes, {len(cluster.pods.names)} pods\n")
        ClusterState(cluster).validate()
