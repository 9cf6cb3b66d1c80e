"""``restow pressure``: what nodes are really used for."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from restow.cli.options import PATHS, Verbosity

app = App(name="pressure", help="Measure the pressure that nodes are under.", help_epilogue="", sort_key=9)

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
