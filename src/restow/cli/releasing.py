"""From the arguments of ``restow release`` to its exit status."""

from __future__ import annotations

import asyncio
import sys

from restow.cli.streams import warn, warn_of_libraries
from restow.client.connection import connect
from restow.plain_text import printable
from restow.reporting.wording import counted
from restow.running.release import Released, release_all

_DONE, _FAILED = 0, 1


def release_gates(namespace: str, kubeconfig: str | None, context: str | None) -> int:
    """Do it and tell; returns the exit status. InputError where no configuration leads to a cluster, else ClientError."""
    warn_of_libraries()
    released = asyncio.run(_release(namespace, kubeconfig, context))
    lines = [
        released.entries,
        f"{counted(len(released.pods), 'pod')} released",
        *(f"  {name}" for name in released.pods),
    ]
    if released.nodes:
        lines += [f"{counted(len(released.nodes), 'node')} open again", *(f"  {name}" for name in released.nodes)]
    sys.stdout.writelines(f"{printable(line)}\n" for line in lines)
    warn(released.failures)
    return _FAILED if released.failures else _DONE


async def _release(namespace: str, kubeconfig: str | None, context: str | None) -> Released:
    async with connect(kubeconfig, context) as api:
        return await release_all(api, namespace)
