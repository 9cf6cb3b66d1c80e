"""``restow explain``: why a pod stays or moves, what a plan has to do with a node, and why a pod waits for a scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from restow.cli.options import (
    PATHS,
    Context,
    Contexts,
    Filename,
    Kubeconfig,
    NoSizeLimit,
    Now,
    PolicyConfigFile,
    SchedulerConfig,
    SchedulerVersion,
    Snapshots,
    TableOrJson,
    Verbosity,
)
from restow.cli.terminal import DONE, FAILED, Terminal, write_bytes, write_json, write_result
from restow.policies.codes import Placement, SteeringMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.text import Text

    from restow.application.clusters import ClusterSource
    from restow.application.many_explanations import ObjectKind
    from restow.application.named_clusters import ClusterNames
    from restow.application.planning import PlanRequest
    from restow.explaining.explanation import NodeExplanation, PodExplanation
    from restow.scheduler.explanation import QueueExplanation

app = App(
    name="explain",
    help="Explain why a pod moves, stays or waits, and what would have to change.",
    help_epilogue="",
    sort_key=2,
)

_POD = """Examples:
  restow explain pod shop/db-0 --policy-config-file policy.yaml
  restow explain pod shop/db-0 -f cluster.json
  restow explain pod shop/db-0 -f cluster.json --policy-config-file policy.yaml
  restow explain pod shop/db-0 --contexts 'prod-*'
  restow explain pod shop/db-0 -f cluster.json -o json |
    jq '.strategies[].changes[].steps[].message'
"""
_NODE = """Examples:
  restow explain node node-2 --policy-config-file policy.yaml
  restow explain node node-2 -f cluster.json
  restow explain node node-2 -f cluster.json --policy-config-file policy.yaml
  restow explain node node-2 -f cluster.json -o json | jq .staying
  restow explain node node-2 -f cluster.json --drain
"""
_SCHEDULING = """Examples:
  kubectl -n kube-system port-forward restow-scheduler-7f-x2k 10259 &
  restow explain scheduling shop/db-0 --scheduler-url https://127.0.0.1:10259
  restow explain scheduling shop/db-0 --scheduler-url https://127.0.0.1:10259 \\
    --scheduler-token-file token -o json | jq .waitsFor
"""

_HOW = "As in restow plan: prove (the default) or upstream, which does not simulate scheduling."
_STEER = "As in restow plan: nominate, fence, prefer or none; without it the policy decides."

_DRAIN = "Show what a drain of the node would do, in place of a plan: which pods go where and when, what cannot go, what it costs."
_URL = "The scheduler to ask, such as https://127.0.0.1:10259, the other end of kubectl port-forward."
_TOKEN = "File with the bearer token to show it. Default: the token of the kubeconfig."  # noqa: S105
_AUTHORITIES = "File with the authorities of its certificate, which is not checked on this machine without one."

_Url = Annotated[str | None, Parameter(name="--scheduler-url", metavar="URL", help=_URL)]
_Token = Annotated[str | None, PATHS, Parameter(name="--scheduler-token-file", metavar="FILE", help=_TOKEN)]
_Authorities = Annotated[str | None, PATHS, Parameter(name="--scheduler-ca-file", metavar="FILE", help=_AUTHORITIES)]
_Pod = Annotated[str, Parameter(name="NAMESPACE/NAME", help="The pod.")]
_Node = Annotated[str, Parameter(name="NAME", help="The node.")]
_Placement = Annotated[Placement | None, Parameter(metavar="HOW", help=_HOW)]
_Steering = Annotated[SteeringMode | None, Parameter(metavar="HOW", help=_STEER)]
_Drain = Annotated[bool, Parameter(negative=(), show_default=False, help=_DRAIN)]


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
    scheduler_version: SchedulerVersion = None,
    now: Now = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    contexts: Contexts = None,
    snapshots: Snapshots = None,
    no_size_limit: NoSizeLimit = False,
    verbose: Verbosity = 0,
) -> int:
    """Show why a pod stays, or where it goes.

    Makes the same plan as restow plan does for the same input. Shows whether each strategy wants the pod to move, what
    each stage of the plan decides, and the smallest change that would let the pod move. With --contexts or --snapshots,
    a line for each of many clusters.
    """
    from restow.application.clusters import ClusterSource
    from restow.application.named_clusters import ClusterNames
    from restow.application.planning import PlanRequest, explained_pod
    from restow.policies.fallbacks import Fallbacks
    from restow.reporting.explain_table import pod_sections

    where = ClusterSource(tuple(filename or ()), kubeconfig, context, no_size_limit, scheduler_version)
    feedback = Terminal()
    request = PlanRequest(where, policy_config_file, placement, steering, scheduler_config, now, Fallbacks())
    if contexts or snapshots:
        return _print_many(request, ClusterNames(tuple(contexts or ()), snapshots), "pod", name, output)
    explanation = explained_pod(request, name, feedback)
    _print(explanation, lambda width: pod_sections(explanation, width), output, feedback, verbose)
    return DONE


@app.command(usage="restow explain node NAME [OPTIONS]", help_epilogue=_NODE, sort_key=2)
def node(
    name: _Node,
    /,
    *,
    drain: _Drain = False,
    filename: Filename = None,
    policy_config_file: PolicyConfigFile = None,
    output: TableOrJson = "table",
    placement: _Placement = None,
    steering: _Steering = None,
    scheduler_config: SchedulerConfig = None,
    scheduler_version: SchedulerVersion = None,
    now: Now = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    contexts: Contexts = None,
    snapshots: Snapshots = None,
    no_size_limit: NoSizeLimit = False,
    verbose: Verbosity = 0,
) -> int:
    """Show what a plan does to a node.

    Shows how full the node is, how each strategy classifies it, which pods leave and arrive, and why other candidates
    on it are refused. With --drain it shows what kubectl drain would do to the node's pods; with --contexts or
    --snapshots, a line for each of many clusters.
    """
    from restow.application.clusters import ClusterSource
    from restow.application.named_clusters import ClusterNames
    from restow.application.planning import PlanRequest, explained_node
    from restow.policies.fallbacks import Fallbacks
    from restow.reporting.explain_table import node_sections

    where = ClusterSource(tuple(filename or ()), kubeconfig, context, no_size_limit, scheduler_version)
    feedback = Terminal()
    if drain:
        _check_drain(policy_config_file, placement, steering, contexts or snapshots)
        _print_drain(where, name, scheduler_config, now, output)
        return DONE
    request = PlanRequest(where, policy_config_file, placement, steering, scheduler_config, now, Fallbacks())
    if contexts or snapshots:
        return _print_many(request, ClusterNames(tuple(contexts or ()), snapshots), "node", name, output)
    explanation = explained_node(request, name, feedback)
    _print(explanation, lambda width: node_sections(explanation, width), output, feedback, verbose)
    return DONE


def _check_drain(policy: str | None, placement: Placement | None, steering: SteeringMode | None, many: object) -> None:
    """A drain asks no policy, and is of a node of one cluster."""
    from restow.errors import InputError

    if policy is not None or placement is not None or steering is not None:
        raise InputError("--drain asks no policy: leave --policy-config-file, --placement and --steering out")
    if many:
        raise InputError("--drain is of a node of one cluster: name it with --context or -f")


def _print_many(request: PlanRequest, clusters: ClusterNames, kind: ObjectKind, name: str, output: str) -> int:
    """Explain the object of each cluster in a line; the exit status says whether all gave an answer."""
    from restow.application.many_explanations import ManyExplanationsRequest, explain_many
    from restow.reporting.clusters_explanation_table import print_explanations

    found = explain_many(ManyExplanationsRequest(request, clusters, kind, name), Terminal())
    write_result(found, output, print_explanations, page="")
    return FAILED if found.failed else DONE


def _print_drain(where: ClusterSource, node: str, configuration: str | None, now: str | None, output: str) -> None:
    from restow.application.draining import DrainRequest, drained
    from restow.reporting.drain_table import drain_sections
    from restow.reporting.terminal import console, print_sections

    found = drained(DrainRequest(where, node, configuration, now), Terminal())
    if output == "json":
        write_json(found)
        return
    page = console()
    print_sections(drain_sections(found, page.width), page)


def _print(
    explanation: PodExplanation | NodeExplanation,
    sections: Callable[[int], list[list[Text]]],
    output: str,
    feedback: Terminal,
    verbosity: int,
) -> None:
    from restow.reporting.json import render_explanation
    from restow.reporting.terminal import console, print_sections

    feedback.warn_of_timings(verbosity)
    if output == "json":
        write_bytes(render_explanation(explanation))
        return
    page = console()
    print_sections(sections(page.width), page)


@app.command(usage="restow explain scheduling NAMESPACE/NAME [OPTIONS]", help_epilogue=_SCHEDULING, sort_key=3)
def scheduling(
    name: _Pod,
    /,
    *,
    scheduler_url: _Url = None,
    scheduler_token_file: _Token = None,
    scheduler_ca_file: _Authorities = None,
    output: TableOrJson = "table",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show why a pod waits for restow scheduler.

    Shows the queue that the pod is in, what it waits for, how its last attempt ended, and which plugin objects to which
    node. The scheduler has to run with --explain-pods, and the token needs the right to get /pods/NAMESPACE/NAME.
    """
    from restow.application.explaining_scheduling import WaitingPodRequest, explained_scheduling

    request = WaitingPodRequest(name, scheduler_url, scheduler_token_file, scheduler_ca_file, kubeconfig, context)
    _print_scheduling(explained_scheduling(request), scheduler_url or "", output)


def _print_scheduling(explanation: QueueExplanation, url: str, output: str) -> None:
    from restow.reporting.schedule_explanation import scheduling_sections
    from restow.reporting.terminal import console, print_sections

    if output == "json":
        write_json(explanation)
        return
    page = console()
    print_sections(scheduling_sections(explanation, url.rstrip("/"), page.width), page)
