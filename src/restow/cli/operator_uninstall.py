"""``restow operator uninstall``: removes an operator and all that it made."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Group, Parameter

from restow.cli import options as option
from restow.cli.flag_values import duration
from restow.cli.options import Context, Kubeconfig, TableOrJson, Verbosity
from restow.kube.duration import SECOND

EXAMPLES = """Examples:
  restow operator uninstall
  restow operator uninstall --context production
  restow operator uninstall --yes -o json > removed.json
"""

_Namespace = Annotated[str, Parameter(metavar="NAMESPACE", help="Namespace of the operator; it is deleted too.")]
_Yes = Annotated[
    bool, Parameter(name=["-y", "--yes"], show_default=False, help="Do not ask; required without a terminal.")
]


_Timeout = Annotated[
    int,
    option.time_span(Group("Waiting", sort_key=1), "How long each step may take before the next one begins.", duration),
]


def uninstall(
    *,
    namespace: _Namespace = "openshift-kube-descheduler-operator",
    yes: _Yes = False,
    timeout: _Timeout = 120 * SECOND,
    output: TableOrJson = "table",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    verbose: Verbosity = 0,
) -> int:
    """Remove the operator, everything that it made, its namespace, and the definition of KubeDescheduler.

    Shows what there is, and asks. Then the KubeDescheduler is deleted first, so that the operator itself takes soft taints
    off nodes and removes its objects; what it leaves is removed after it. At the end all is looked for again: the exit
    status is 1 if something is left, 130 after Ctrl-C. The command can be repeated. It needs an administrator's rights.
    """
    from restow.cli.progress import told
    from restow.cli.uninstalling import Request, remove_operator

    with told("uninstall", verbose):
        return remove_operator(Request(namespace, yes, timeout / SECOND, output, kubeconfig, context))
