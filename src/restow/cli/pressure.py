"""``restow pressure``: what nodes are really used for, and which of them new pods should rather avoid.

The daemon has the flags of a dynamic scheduler in their short spelling, and those of every daemon. ``check`` tries a rule file and
writes nothing; ``push`` measures a node's memory.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import App, Parameter

from restow.cli.go_flags import duration
from restow.cli.options import PATHS, Context, Contexts, TableOrJson, Verbosity
from restow.cli.pressure_flags import (
    Authorities,
    Certificate,
    Headers,
    Key,
    Kubeconfig,
    Label,
    PressureFlags,
    Rules,
    Share,
    Token,
    Url,
)
from restow.cli.terminal import DONE, FAILED, Terminal, timed, warn, write_result
from restow.errors import InputError
from restow.kube.duration import SECOND

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from restow.application.pressure import PressureCheckRequest
    from restow.pressure.pushing import Gateway
    from restow.pressure.situation import PressureCheck


#: The short spellings, which Go's flags take with one hyphen or two, and with or without an equals sign.
_SHORT: Final = {
    "prom": "--prometheus-url",
    "kubeconfig": "--kubeconfig",
    "r": "--rules",
    "s": "--interval",
    "webaddr": "--listen",
}


def canonical(arguments: Sequence[str]) -> list[str]:
    """Return the arguments after ``pressure`` with the long spelling of each option."""
    return [_long(each) for each in arguments]


def _long(argument: str) -> str:
    name, equals, value = argument.partition("=")
    known = _SHORT.get(name.lstrip("-")) if name.startswith("-") and not name.startswith("---") else None
    return f"{known}{equals}{value}" if known is not None else argument


_RUN = """Examples:
  restow pressure -r rule.yaml --prometheus-url http://prometheus:9090 --dry-run
  restow pressure -kubeconfig admin.conf -prom http://prometheus:9090 \\
    -r rule.yaml -s 10 -webaddr :9000
  restow pressure -r rule.yaml --prometheus-url https://prometheus:9091 \\
    --prometheus-token-file token --prometheus-ca-file ca.crt --leader-elect
"""

app = App(
    name="pressure", help_epilogue=_RUN, usage="restow pressure -r FILE --prometheus-url URL [OPTIONS]", sort_key=9
)


@app.default
def label_nodes(*, flags: Annotated[PressureFlags, Parameter(name="*")]) -> int:
    """Label nodes under pressure, by rules over metrics in Prometheus, until stopped.

    Pods that prefer nodes without the label then go elsewhere. Marks that restow set are removed when the pressure is
    over; other marks stay. check tries a rule file and writes nothing.
    """
    from restow.cli.pressure_run import label_by_rules

    return label_by_rules(flags)


_CHECK = """Examples:
  restow pressure check -r rule.yaml --prometheus-url http://prometheus:9090
  restow pressure check -kubeconfig admin.conf -prom http://prometheus:9090 \\
    -r rule.yaml
  restow pressure check -r rule.yaml --prometheus-url https://prometheus:9091 \\
    --prometheus-token-file token --prometheus-ca-file ca.crt -o json
  restow pressure check -r rule.yaml --contexts 'prod-*' \\
    --prometheus-url 'https://prometheus.{context}.example.com'
"""


@app.command(usage="restow pressure check -r FILE --prometheus-url URL [OPTIONS]", help_epilogue=_CHECK, sort_key=1)
def check(
    *,
    rules: Rules,
    prometheus_url: Url,
    prometheus_token_file: Token = None,
    prometheus_ca_file: Authorities = None,
    prometheus_cert_file: Certificate = None,
    prometheus_key_file: Key = None,
    prometheus_header: Headers = None,
    label: Label = "status=presure",
    max_share: Share = 0.5,
    output: TableOrJson = "table",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    contexts: Contexts = None,
    verbose: Verbosity = 0,
) -> int:
    """Show which nodes a rule file would mark now, and write nothing.

    Asks Prometheus each query once, and the cluster for its nodes. A sample belongs to the node whose InternalIP, Hostname
    or name its instance label has, with or without a port. Nodes of the control plane are left out. With --contexts, a
    line for each of many clusters; {context} in the URL, in a header or in the token's path stands for the context.
    """
    from restow.application.pressure import PressureCheckRequest, PrometheusAccess, check_rules

    feedback = Terminal()
    access = PrometheusAccess(
        url=prometheus_url,
        token_file=prometheus_token_file,
        authorities=prometheus_ca_file,
        certificate=prometheus_cert_file,
        key=prometheus_key_file,
        headers=tuple(prometheus_header or ()),
    )
    with timed("check", verbose):
        request = PressureCheckRequest(rules, access, label, max_share, kubeconfig, context)
        if contexts:
            return _check_many(request, contexts, output, feedback)
        _print_check(check_rules(request, feedback), output, feedback)
    return DONE


def _check_many(request: PressureCheckRequest, contexts: Sequence[str], output: str, feedback: Terminal) -> int:
    """Try the rules in each cluster; the exit status says whether all gave an answer."""
    from restow.application.many_pressures import check_rules_in_many
    from restow.application.named_clusters import ClusterNames
    from restow.reporting.clusters_pressure_table import print_checks, warnings_of

    found = check_rules_in_many(request, ClusterNames(tuple(contexts)), feedback)
    feedback.warn(warnings_of(found))
    write_result(found, output, print_checks, page="")
    return FAILED if found.failed else DONE


def _print_check(found: PressureCheck, output: str, feedback: Terminal) -> None:
    from restow.reporting.pressure_table import check_warnings, print_check

    feedback.warn(check_warnings(found))
    write_result(found, output, print_check, page="")


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
) -> None:
    """Push this node's available memory to a Pushgateway, as the kubelet counts it.

    That is the machine's memory less the working set of the root cgroup (v1 or v2): the figure by which the kubelet evicts
    pods. Run it on each node: once from cron, or with --interval as a DaemonSet.
    """
    import socket
    from pathlib import Path

    from restow.pressure.pushing import METRIC, node_memory

    def available() -> int:
        return node_memory(Path(cgroup_root), Path(meminfo)).available

    node = instance or socket.gethostname()
    with timed("pressure push", verbose):
        if dry_run:
            sys.stdout.write(f'{METRIC}{{instance="{node}"}} {available()}\n')
        else:
            _push(_gateway_at(gateway, node), _seconds(interval), available)


def _push(gateway: Gateway, seconds: float | None, available: Callable[[], int]) -> None:
    """Push once, or every ``seconds`` until a signal stops it."""
    from restow.pressure.pushing import keep_pushing

    if seconds is None:
        gateway.push(available())
        return
    # What can never be measured is an error at once, not a warning at each push.
    available()
    keep_pushing(gateway, available, seconds, _stopping(), lambda sentence: warn([sentence]))


def _gateway_at(url: str | None, instance: str) -> Gateway:
    from restow.client.proxies import is_http, split_user
    from restow.plain_text import without_secrets
    from restow.pressure.pushing import Gateway

    if not url:
        raise InputError("--gateway is missing: the URL of the Pushgateway, such as http://pushgateway:9091")
    if not is_http(url):
        raise InputError(f"--gateway {without_secrets(url)} is not a URL such as http://pushgateway:9091")
    address, user = split_user(url)
    return Gateway(address, instance, user)


def _seconds(interval: str | None) -> float | None:
    if not interval:
        return None
    try:
        seconds = duration(interval) / SECOND
    except ValueError as error:
        raise InputError(f"--interval {interval}: {error}; write a duration such as 30s") from error
    if seconds < 1:
        raise InputError(f"--interval {interval} is less than a second")
    return seconds


def _stopping() -> threading.Event:
    """Set by SIGTERM and SIGINT."""
    import signal
    import threading

    stopping = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stopping.set())
    return stopping
