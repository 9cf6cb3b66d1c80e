"""``restow explain``: why a pod stays or moves, and what a plan has to do with a node."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import App, Parameter

from restow.cli.options import PATHS, Context, Filename, Kubeconfig, Verbosity

app = App(name="explain", help="Say why a pod stays, and what would have to change.", help_epilogue="", sort_key=2)

_POD = """Examples:
  restow explain pod shop/db-0 --policy-config-file policy.yaml
  restow explain pod shop/db-0 -f cluster.json
  restow explain pod shop/db-0 -f cluster.json --policy-config-file policy.yaml
  restow explain pod shop/db-0 -f cluster.json -o json |
    jq '.strategies[].changes[].steps[].message'
"""
_NODE = """Examples:
  restow explain node node-2 --policy-config-file policy.yaml
  restow explain node node-2 -f cluster.json
  restow explain node node-2 -f cluster.json --policy-config-file policy.yaml
  restow explain node node-2 -f cluster.json -o json | jq .staying
"""

_POLICY = "A DeschedulerPolicy, v1alpha1 or v1alpha2, or - for standard input; without it a bundled one."
_HOW = "As in restow plan: prove (what is done without it) or upstream, which asks no scheduler."
_SCHEDULER = "The cluster's KubeSchedulerConfiguration; without it the default profile."
_TIME = "The time of the plan, such as 2026-11-21T00:00:00Z; without it the clock's."

_Pod = Annotated[str, Parameter(name="NAMESPACE/NAME", help="The pod.")]
_Node = Annotated[str, Parameter(name="NAME", help="The node.")]
_Policy = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_POLICY)]
_Placement = Annotated[Literal["prove", "upstream"] | None, Parameter(metavar="HOW", help=_HOW)]
_SchedulerConfig = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_SCHEDULER)]
_Output = Annotated[Literal["table", "json"], Parameter(name=["-o", "--output"], metavar="FORM", help="table or json.")]
_Now = Annotated[str | None, Parameter(metavar="TIME", help=_TIME)]


@app.command(usage="restow explain pod NAMESPACE/NAME [OPTIONS]", help_epilogue=_POD, sort_key=1)
def pod(
    name: _Pod,
    /,
    *,
    filename: Filename = None,
    policy_config_file: _Policy = None,
    output: _Output = "table",
    placement: _Placement = None,
    scheduler_config: _SchedulerConfig = None,
    now: _Now = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    verbose: Verbosity = 0,
) -> None:
    """Show why a pod stays, or where it goes.

    The plan is that of restow plan for the same input. Every strategy says whether it wants the pod to move; then each
    stage of the plan what it has against that, and what the least change is that would help.
    """
    from restow.cli.explaining import Request, explain_one_pod
    from restow.cli.inputs import Where

    where = Where(tuple(filename or ()), kubeconfig, context)
    files = Request(where, policy_config_file, placement, scheduler_config, now, output, verbose)
    explain_one_pod(files, name)


@app.command(usage="restow explain node NAME [OPTIONS]", help_epilogue=_NODE, sort_key=2)
def node(
    name: _Node,
    /,
    *,
    filename: Filename = None,
    policy_config_file: _Policy = None,
    output: _Output = "table",
    placement: _Placement = None,
    scheduler_config: _SchedulerConfig = None,
    now: _Now = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    verbose: Verbosity = 0,
) -> None:
    """Show what a plan does to a node.

    How full it is, how the strategies see it, which pods leave it and come to it, and why others that were wanted stay.
    """
    from restow.cli.explaining import Request, explain_one_node
    from restow.cli.inputs import Where

    where = Where(tuple(filename or ()), kubeconfig, context)
    files = Request(where, policy_config_file, placement, scheduler_config, now, output, verbose)
    explain_one_node(files, name)
