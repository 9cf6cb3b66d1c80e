"""``restow pressure``: what nodes are really used for, and which of them new pods should rather avoid."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from restow.cli.options import PATHS, Context, TableOrJson, Verbosity

app = App(
    name="pressure",
    help="Measure the pressure that nodes are under, and judge it by rules.",
    help_epilogue="",
    sort_key=9,
)

_RULES_HELP = "Rule file: the queries and their thresholds."
_URL_HELP = "Prometheus, such as http://prometheus:9090; user and password may stand in front of the host."
_TOKEN_FILE_HELP = "File with a bearer token for Prometheus, such as that of a service account."  # noqa: S105
_AUTHORITIES_HELP = "File with the certificates of the authorities that a https:// Prometheus is checked against."
_LABEL_HELP = "Label of a node under pressure; a taint has the same key and value."
_SHARE_HELP = "Share of all nodes that one rule may mark; one that would mark more marks none."
_KUBECONFIG_HELP = "Kubeconfig of the cluster. Default: KUBECONFIG, ~/.kube/config or the pod's service account."

_Rules = Annotated[str, PATHS, Parameter(name=["-r", "--rules"], metavar="FILE", help=_RULES_HELP)]
_Url = Annotated[str, Parameter(name=["--prometheus-url", "-prom"], metavar="URL", help=_URL_HELP)]
_Token = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_TOKEN_FILE_HELP)]
_Authorities = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_AUTHORITIES_HELP)]
_Label = Annotated[str, Parameter(metavar="KEY=VALUE", help=_LABEL_HELP)]
_Share = Annotated[float, Parameter(metavar="SHARE", help=_SHARE_HELP)]
_Kubeconfig = Annotated[
    str | None, PATHS, Parameter(name=["--kubeconfig", "-kubeconfig"], metavar="FILE", help=_KUBECONFIG_HELP)
]

_CHECK = """Examples:
  restow pressure check -r rule.yaml --prometheus-url http://prometheus:9090
  restow pressure check -kubeconfig admin.conf -prom http://prometheus:9090 \\
    -r rule.yaml
  restow pressure check -r rule.yaml --prometheus-url https://prometheus:9091 \\
    --prometheus-token-file token --prometheus-ca-file ca.crt -o json
"""


@app.command(usage="restow pressure check -r FILE --prometheus-url URL [OPTIONS]", help_epilogue=_CHECK, sort_key=1)
def check(
    *,
    rules: _Rules,
    prometheus_url: _Url,
    prometheus_token_file: _Token = None,
    prometheus_ca_file: _Authorities = None,
    label: _Label = "status=presure",
    max_share: _Share = 0.5,
    output: TableOrJson = "table",
    kubeconfig: _Kubeconfig = None,
    context: Context = None,
    verbose: Verbosity = 0,
) -> None:
    """Try a rule file, and say which nodes it would mark now. Nothing is written.

    Asks Prometheus each query once, and the cluster for its nodes. A sample belongs to the node whose InternalIP, Hostname
    or name its instance label has, with or without a port. Nodes of the control plane are left out.
    """
    from restow.cli.pressure_check import Request, answer
    from restow.cli.timings import told

    with told("check", verbose):
        answer(
            Request(
                rules=rules,
                url=prometheus_url,
                token_file=prometheus_token_file,
                authorities=prometheus_ca_file,
                label=label,
                most=max_share,
                output=output,
                kubeconfig=kubeconfig,
                context=context,
            )
        )


_PUSH = """Examples:
  restow pressure push --gateway http://pushgateway:9091
  restow pressure push --gateway http://pushgateway:9091 \\
    --instance 10.0.0.7 --interval 30s
  restow pressure push --dry-run

The metric is k8_node_cgroups_mem_available, with the job CollectK8sCgroupsMem.
"""

_Gateway = Annotated[
    str | None,
    Parameter(
        name=["-g", "--gateway"],
        metavar="URL",
        help="The Pushgateway; user:password@ before its name is basic authentication.",
    ),
]
_Instance = Annotated[
    str | None,
    Parameter(metavar="NAME", help="The node: its address, host name or node name. Default: this machine's host name."),
]
_Interval = Annotated[
    str | None,
    Parameter(metavar="DURATION", help="Push again and again, and delete the figure at the end. Default: push once."),
]
_CgroupRoot = Annotated[str, PATHS, Parameter(metavar="DIR", help="Where the host's /sys/fs/cgroup is mounted.")]
_Meminfo = Annotated[str, PATHS, Parameter(metavar="FILE", help="The host's /proc/meminfo.")]
_DryRun = Annotated[bool, Parameter(show_default=False, help="Print the figure and push nothing.")]


@app.command(help_epilogue=_PUSH, sort_key=2)
def push(
    *,
    gateway: _Gateway = None,
    instance: _Instance = None,
    interval: _Interval = None,
    cgroup_root: _CgroupRoot = "/sys/fs/cgroup",
    meminfo: _Meminfo = "/proc/meminfo",
    dry_run: _DryRun = False,
    verbose: Verbosity = 0,
) -> int:
    """Push how much memory this node has left to a Pushgateway, as the kubelet counts it.

    That is the machine's memory less the working set of the root cgroup (v1 or v2): the figure by which the kubelet evicts
    pods. Run it on each node: once from cron, or with --interval as a DaemonSet.
    """
    from restow.cli.pushing import push_memory
    from restow.cli.timings import told

    with told("pressure push", verbose):
        return push_memory(gateway, instance, interval, cgroup_root, meminfo, dry_run=dry_run)
