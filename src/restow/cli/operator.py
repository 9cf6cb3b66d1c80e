"""``restow operator``: keeps a cluster as its KubeDescheduler says, shows what one comes to, taints busy nodes, and is removed."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Group, Parameter

from restow.cli import options as option
from restow.cli.daemon_flags import ElectionFlags, LeaseDuration, LoggingFormat, RenewDeadline, RetryPeriod, ServerPort
from restow.cli.go_flags import duration
from restow.cli.options import LOGS, PATHS, SERVER, Context, Kubeconfig, TableOrJson, Verbosity, Yes
from restow.cli.terminal import Terminal, timed, write
from restow.kube.duration import SECOND

_DAEMON = """Examples:
  restow operator --kubeconfig ~/.kube/config \\
    --image quay.example.com/restow:0.1.0
  restow operator render -f kubedescheduler.yaml
"""

app = App(name="operator", help_epilogue=_DAEMON, sort_key=10)

_EXAMPLES = """Examples:
  restow operator render -f kubedescheduler.yaml
  restow operator render -f kubedescheduler.yaml --cluster cluster.json \\
    --image quay.example.com/restow:0.1.0 | kubectl diff -f -
  kubectl get kubedeschedulers cluster -o yaml \\
    -n openshift-kube-descheduler-operator |
    restow operator render -f - --openshift
"""

_FILE = "KubeDescheduler (operator.openshift.io/v1), or - for standard input."
_CLUSTER = "Dump of the cluster, as for restow plan -f, whose namespaces, nodes and priority classes count."
_IMAGE = "Image of restow that the descheduler runs."
_TAINTER_IMAGE = "Image of restow that the soft tainter runs. Default: that of the descheduler."
_URL = "Prometheus that profiles which need it ask; an operator on OpenShift finds it by its Route."
_OPENSHIFT = "Render for OpenShift: with its certificates and its monitoring."

_File = Annotated[str, PATHS, Parameter(name=["-f", "--filename"], metavar="FILE", help=_FILE)]
_Cluster = Annotated[list[str] | None, PATHS, Parameter(name="--cluster", metavar="PATH", help=_CLUSTER)]
_Image = Annotated[str, Parameter(metavar="IMAGE", env_var="RELATED_IMAGE_OPERAND_IMAGE", help=_IMAGE)]
_OperandImage = Annotated[_Image, Parameter(show_default=False)]
_TainterImage = Annotated[
    str, Parameter(metavar="IMAGE", env_var="RELATED_IMAGE_SOFTTAINTER_IMAGE", help=_TAINTER_IMAGE, show_default=False)
]
_PrometheusURL = Annotated[str, Parameter(metavar="URL", help=_URL, show_default=False)]
_OpenShift = Annotated[bool, Parameter(name="--openshift", show_default=False, help=_OPENSHIFT)]


_PSI = "Accept KubeVirt profiles though the operator's node does not report how long processes wait (PSI)."
_NAMESPACE = "Namespace of the KubeDescheduler and of all that is made for it."
_V = "Log verbosity, 0 to 8."

_Namespace = Annotated[
    str, Parameter(metavar="NAMESPACE", env_var=["OPERATOR_NAMESPACE", "POD_NAMESPACE"], help=_NAMESPACE)
]
_NoPsi = Annotated[
    bool,
    Parameter(
        name="--experimental-disable-psi-check",
        negative="",
        env_var="EXPERIMENTAL_DISABLE_PSI_CHECK",
        show_default=False,
        help=_PSI,
    ),
]
_LogVerbosity = Annotated[int, Parameter(name=["-v", "--v"], group=LOGS, metavar="N", help=_V)]

_UNINSTALL = """Examples:
  restow operator uninstall
  restow operator uninstall --context production
  restow operator uninstall --yes -o json > removed.json
"""

_OfOperator = Annotated[str, Parameter(metavar="NAMESPACE", help="Namespace of the operator; it is deleted too.")]


_Timeout = Annotated[
    int,
    option.time_span(Group("Waiting", sort_key=1), "How long each step may take before the next one begins.", duration),
]

_SOFT_TAINTER = """Examples:
  restow operator soft-tainter --policy-config-file policy.yaml
  restow operator soft-tainter --policy-config-file policy.yaml \\
    --kubeconfig ~/.kube/config --secure-port 0
"""

_POLICY = "DeschedulerPolicy with a profile KubeVirtRelieveAndMigrate, as the operator writes it."

_Policy = Annotated[str, PATHS, Parameter(metavar="FILE", help=_POLICY)]
_OfKubeDescheduler = Annotated[str, Parameter(metavar="NAMESPACE", help="Namespace of the KubeDescheduler.")]
_TainterPort = Annotated[int, option.value(SERVER, "PORT", "Port for health checks; 0 disables the server.")]
_TainterVerbosity = Annotated[
    int, Parameter(name=["-v", "--v"], group=LOGS, metavar="N", help="Log verbosity, 0 to 8.")
]


@app.default
def operate(
    *,
    kubeconfig: Kubeconfig = None,
    namespace: _Namespace = "openshift-kube-descheduler-operator",
    image: _OperandImage = "",
    soft_tainter_image: _TainterImage = "",
    prometheus_url: _PrometheusURL = "",
    experimental_disable_psi_check: _NoPsi = False,
    leader_elect_lease_duration: LeaseDuration = ElectionFlags.leader_elect_lease_duration,
    leader_elect_renew_deadline: RenewDeadline = ElectionFlags.leader_elect_renew_deadline,
    leader_elect_retry_period: RetryPeriod = ElectionFlags.leader_elect_retry_period,
    secure_port: ServerPort = 8443,
    logging_format: LoggingFormat = "text",
    verbose: _LogVerbosity = 2,
) -> int:
    """Deploy restow as a KubeDescheduler describes, and keep it up to date, until stopped.

    Works in a pod, or outside of the cluster with --kubeconfig. Needs the extra restow[operator]. One replica works at a
    time, under a lease in its namespace.
    """
    from restow.cli.operating import pressure_metrics, run_operator
    from restow.operator.facts import Installation

    timing = (leader_elect_lease_duration, leader_elect_renew_deadline, leader_elect_retry_period)
    has_psi = None if experimental_disable_psi_check else pressure_metrics(kubeconfig)
    installation = Installation(image, namespace, prometheus_url, soft_tainter_image, has_psi)
    return run_operator(
        installation,
        timing,
        kubeconfig=kubeconfig,
        port=secure_port,
        logging_format=logging_format,
        verbosity=verbose,
    )


@app.command(help_epilogue=_EXAMPLES, sort_key=1)
def render(
    *,
    filename: _File,
    cluster: _Cluster = None,
    image: _Image = "registry.example.com/restow:0.1.0",
    soft_tainter_image: _TainterImage = "",
    prometheus_url: _PrometheusURL = "",
    openshift: _OpenShift = False,
    verbose: Verbosity = 0,
) -> None:
    """Print every object that an operator makes for a KubeDescheduler.

    Asks no cluster. Without --cluster the policy does not exclude the protected namespaces whose names only the cluster
    knows (openshift-*), which an operator always adds. Settings with less effect than the resource says are listed on
    stderr. The exit status is 2 for a resource from which nothing follows.
    """
    from restow.application.kubedescheduler import RenderRequest, objects_of

    with timed("render", verbose):
        images = (image, soft_tainter_image)
        request = RenderRequest(filename, tuple(cluster or ()), images, prometheus_url, openshift)
        write("---\n".join(objects_of(request, Terminal())))


@app.command(help_epilogue=_UNINSTALL, sort_key=3)
def uninstall(
    *,
    namespace: _OfOperator = "openshift-kube-descheduler-operator",
    yes: Yes = False,
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
    from restow.application.removing import RemovalRequest
    from restow.cli.operating import uninstall_operator

    request = RemovalRequest(namespace, timeout / SECOND, kubeconfig, context)
    with timed("uninstall", verbose):
        return uninstall_operator(request, output, yes=yes)


@app.command(help_epilogue=_SOFT_TAINTER, sort_key=2)
def soft_tainter(
    *,
    policy_config_file: _Policy,
    kubeconfig: Kubeconfig = None,
    namespace: _OfKubeDescheduler = "openshift-kube-descheduler-operator",
    secure_port: _TainterPort = 6060,
    logging_format: LoggingFormat = "text",
    verbose: _TainterVerbosity = 2,
) -> int:
    """Put soft taints on overutilized nodes, until stopped. The operator starts it.

    kube-scheduler then prefers other nodes. Usage comes from the Prometheus of the policy; while it does not answer, all
    taints stay as they are. They are taken off while the KubeDescheduler is in Predictive mode, lists no KubeVirt profile,
    or does not exist.
    """
    from restow.cli.operating import keep_tainting

    return keep_tainting(
        policy_config_file,
        kubeconfig=kubeconfig,
        namespace=namespace,
        port=secure_port,
        logging_format=logging_format,
        verbosity=verbose,
    )
