"""``restow operator soft-tainter``: keeps new pods away from busy nodes."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from restow.cli import options as option
from restow.cli.options import LOGS, PATHS, SERVER, Kubeconfig

EXAMPLES = """Examples:
  restow operator soft-tainter --policy-config-file policy.yaml
  restow operator soft-tainter --policy-config-file policy.yaml \\
    --kubeconfig ~/.kube/config --secure-port 0
"""

_POLICY = "DeschedulerPolicy with a profile KubeVirtRelieveAndMigrate, as the operator writes it."

_Policy = Annotated[str, PATHS, Parameter(metavar="FILE", help=_POLICY)]
_Namespace = Annotated[str, Parameter(metavar="NAMESPACE", help="Namespace of the KubeDescheduler.")]
_Port = Annotated[int, option.value(SERVER, "PORT", "Port for health checks; 0 disables the server.")]
_Format = Annotated[Literal["text", "json"], option.value(LOGS, "FORM", "text or json.")]
_LogVerbosity = Annotated[int, Parameter(name=["-v", "--v"], group=LOGS, metavar="N", help="Log verbosity, 0 to 8.")]


def soft_tainter(
    *,
    policy_config_file: _Policy,
    kubeconfig: Kubeconfig = None,
    namespace: _Namespace = "openshift-kube-descheduler-operator",
    secure_port: _Port = 6060,
    logging_format: _Format = "text",
    verbose: _LogVerbosity = 2,
) -> int:
    """Keep soft taints on nodes that are used too much, until told to stop. The operator starts it.

    kube-scheduler then prefers other nodes. Usage comes from the Prometheus of the policy; while it does not answer, all
    taints stay as they are. They are taken off while the KubeDescheduler is in Predictive mode, lists no KubeVirt profile,
    or does not exist.
    """
    from restow.cli.soft_tainting import TaintingRequest, keep_tainting

    return keep_tainting(
        TaintingRequest(policy_config_file, kubeconfig, namespace, secure_port, logging_format, verbose)
    )
