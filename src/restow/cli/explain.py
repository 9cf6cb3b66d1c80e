"""``restow explain``: why a pod stays or moves, and what a plan has to do with a node."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from restow.cli.options import (
    Context,
    Filename,
    Kubeconfig,
    NoSizeLimit,
    Now,
    PolicyConfigFile,
    SchedulerConfig,
    TableOrJson,
    Verbosity,
)
from restow.policies.codes import Placement, SteeringMode

app = App(
    name="explain",
    help="Explain why a pod moves or stays, and what would have to change.",
    help_epilogue="",
    sort_key=2,
)

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

_HOW = "As in restow plan: prove (the default) or upstream, which does not simulate scheduling."
_STEER = "As in restow plan: nominate, fence, prefer or none; without it the policy decides."

_Pod = Annotated[str, Parameter(name="NAMESPACE/NAME", help="The pod.")]
_Node = Annotated[str, Parameter(name="NAME", help="The node.")]
_Placement = Annotated[Placement | None, Parameter(metavar="HOW", help=_HOW)]
_Steering = Annotated[SteeringMode | None, Parameter(metavar="HOW", help=_STEER)]


@app.command(usage="restow explain pod NAMESPACE/NAME [OPTIONS]", help_epilogue=_POD, sort_key=1)
def pod(
    name: _Pod,
    /,
    *,
    filename: Filename = None,
    policy_config_file: PolicyConfigFile = None,
    output: TableOrJson = "table",
    placement: _Placement = None,
    steering: _Steering = None,
    scheduler_config: SchedulerConfig = None,
    now: Now = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    no_size_limit: NoSizeLimit = False,
    verbose: Verbosity = 0,
) -> None:
    """Show why a pod stays, or where it goes.

    Makes the same plan as restow plan does for the same input. Shows whether each strategy wants the pod to move, what
    each stage of the plan decides, and the smallest change that would let the pod move.
    """
    from restow.cli.explaining import Request, explain_one_pod
    from restow.cli.inputs import ClusterSource
    from restow.cli.plan_request import PlanRequest
    from restow.policies.fallbacks import Fallbacks

    where = ClusterSource(tuple(filename or ()), kubeconfig, context, no_size_limit)
    plan_request = PlanRequest(where, policy_config_file, placement, steering, scheduler_config, now, Fallbacks())
    explain_one_pod(Request(plan_request, output, verbose), name)


@app.command(usage="restow explain node NAME [OPTIONS]", help_epilogue=_NODE, sort_key=2)
def node(
    name: _Node,
    /,
    *,
    filename: Filename = None,
    policy_config_file: PolicyConfigFile = None,
    output: TableOrJson = "table",
    placement: _Placement = None,
    steering: _Steering = None,
    scheduler_config: SchedulerConfig = None,
    now: Now = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    no_size_limit: NoSizeLimit = False,
    verbose: Verbosity = 0,
) -> None:
    """Show what a plan does to a node.

    Shows how full the node is, how each strategy classifies it, which pods leave and arrive, and why other candidates
    on it are refused.
    """
    from restow.cli.explaining import Request, explain_one_node
    from restow.cli.inputs import ClusterSource
    from restow.cli.plan_request import PlanRequest
    from restow.policies.fallbacks import Fallbacks

    where = ClusterSource(tuple(filename or ()), kubeconfig, context, no_size_limit)
    plan_request = PlanRequest(where, policy_config_file, placement, steering, scheduler_config, now, Fallbacks())
    explain_one_node(Request(plan_request, output, verbose), name)
