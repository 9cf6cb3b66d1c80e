"""``restow release``: takes every gate and every fence of steering off, after an accident."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from restow.cli.options import Context, Kubeconfig, Verbosity
from restow.plain_text import printable

if TYPE_CHECKING:
    from restow.descheduler.release import Released

_DONE, _FAILED = 0, 1

EXAMPLES = """Examples:
  restow release
  restow release --context production
  restow release --namespace tools
"""

_Namespace = Annotated[
    str, Parameter(name=["-n", "--namespace"], metavar="NAME", help="Where the ConfigMap restow-steering is.")
]


def release(
    *,
    namespace: _Namespace = "kube-system",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    verbose: Verbosity = 0,
) -> int:
    """Remove restow's scheduling gates from all pods and its taints from all nodes, and gate no new pods.

    A restow that runs does this itself within seconds. The command is for when none runs any more. It needs the rights to
    list and patch pods and nodes, and to patch the ConfigMap. The exit status is 1 if a pod is still gated or a node fenced.
    """
    import asyncio

    from restow.cli.feedback import timed
    from restow.cli.streams import warn
    from restow.reporting.wording import counted

    with timed("release", verbose):
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
    """Do it; InputError where no configuration leads to a cluster, else ClientError."""
    from restow.client.connection import connect
    from restow.descheduler.release import release_all

    async with connect(kubeconfig, context) as api:
        return await release_all(api, namespace)
