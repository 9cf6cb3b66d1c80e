"""``restow release``: takes every gate and every fence of steering off and ends surges, after an accident."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import App, Parameter

from restow.cli.options import Context, Kubeconfig, Verbosity
from restow.cli.terminal import DONE, FAILED, timed, warn
from restow.plain_text import printable

_EXAMPLES = """Examples:
  restow release
  restow release --context production
  restow release --namespace tools
"""

app = App(name="release", help_epilogue=_EXAMPLES, sort_key=8)

_Namespace = Annotated[
    str, Parameter(name=["-n", "--namespace"], metavar="NAME", help="Where the ConfigMap restow-steering is.")
]


@app.default
def release(
    *,
    namespace: _Namespace = "kube-system",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    verbose: Verbosity = 0,
) -> int:
    """Remove restow's scheduling gates from all pods and its taints from all nodes, and gate no new pods.

    Workloads to which restow has given one pod more than they are to have get their number of replicas back, and pods that
    hold places for replacements are deleted.

    A restow that runs does this itself within seconds. The command is for when none runs any more. It needs the rights to
    list and patch pods and nodes, to list Deployments, ReplicaSets and Rollouts, and to patch the ConfigMap. The exit status is 1 if
    a pod is still gated, a node fenced, or a workload has one pod more.
    """
    from restow.application.removing import release_steering
    from restow.reporting.wording import counted

    with timed("release", verbose):
        released = release_steering(namespace, kubeconfig, context)
        lines = [
            released.entries,
            f"{counted(len(released.pods), 'pod')} released",
            *(f"  {name}" for name in released.pods),
        ]
        if released.nodes:
            lines += [f"{counted(len(released.nodes), 'node')} open again", *(f"  {name}" for name in released.nodes)]
        if released.places:
            lines.append(f"{counted(len(released.places), 'place')} no longer held")
            lines += [f"  {name}" for name in released.places]
        if released.workloads:
            lines.append(f"{counted(len(released.workloads), 'workload')} with as many pods as before")
            lines += [f"  {name}" for name in released.workloads]
        sys.stdout.writelines(f"{printable(line)}\n" for line in lines)
        warn(released.failures)
        return FAILED if released.failures else DONE
