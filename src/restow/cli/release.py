"""``restow release``: takes every gate and every fence of steering off, after an accident."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from restow.cli.options import Context, Kubeconfig, Verbosity

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
    """Take restow's scheduling gate off every pod and its taint off every node, and have no new pod gated.

    A restow that runs does this itself within seconds. The command is for when none runs any more. It needs the rights to
    list and patch pods and nodes, and to patch the ConfigMap. The exit status is 1 if a pod is still gated or a node fenced.
    """
    from restow.cli.progress import told
    from restow.cli.releasing import release_gates

    with told("release", verbose):
        return release_gates(namespace, kubeconfig, context)
