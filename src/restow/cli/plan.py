"""``restow plan``: what would be evicted, by which strategy and why, and why everything else stays."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter, validators

from restow.cli.options import PATHS, Output, Verbosity

Placement = Literal["prove", "upstream"]

EXAMPLES = """Examples:
  kubectl get nodes,pods -A -o json | restow plan -f -
  restow plan -f cluster.json --policy-config-file policy.yaml
  restow plan -f nodes.json -f pods.json.gz -f dumps/ -o wide
  restow plan -f cluster.json -o html > plan.html
  restow plan -f cluster.json -o json --now 2026-11-21T00:00:00Z | jq .summary
"""

_CLUSTER = "The cluster: a file, a directory, or - for standard input; JSON or YAML, also .gz. Can be repeated."
_POLICY = "A DeschedulerPolicy, v1alpha1 or v1alpha2, or - for standard input; without it a bundled one."
_FORM = "table, wide (everything), json, yaml or html."
_HOW = (
    "prove (what is done without it) names where each pod will land and moves none without a place; "
    "upstream does what the Kubernetes Descheduler does."
)
_SCHEDULER = "The cluster's KubeSchedulerConfiguration; without it the default profile."
_TIME = "The time of the plan, such as 2026-11-21T00:00:00Z; without it the clock's."
_TIMINGS = "Add the seconds of each phase to the plan's metadata."
_OLD = "where the policy does not say (a flag of Descheduler 0.10 to 0.22)."

_Filename = Annotated[list[str] | None, PATHS, Parameter(name=["-f", "--filename"], metavar="PATH", help=_CLUSTER)]
_Policy = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_POLICY)]
_Output = Annotated[Output, Parameter(name=["-o", "--output"], metavar="FORM", help=_FORM)]
_Placement = Annotated[Placement | None, Parameter(metavar="HOW", help=_HOW)]
_SchedulerConfig = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_SCHEDULER)]
_Now = Annotated[str | None, Parameter(metavar="TIME", help=_TIME)]
_NodeSelector = Annotated[str | None, Parameter(metavar="LABELS", help=f"The nodes to look at, {_OLD}")]
_Limit = Annotated[
    int | None, Parameter(metavar="N", validator=validators.Number(gte=0), help=f"The limit (0 is none), {_OLD}")
]
_LocalStorage = Annotated[bool, Parameter(show_default=False, help=f"Evict pods with local storage too, {_OLD}")]
_Timings = Annotated[bool, Parameter(show_default=False, help=_TIMINGS)]


def plan(
    *,
    filename: _Filename = None,
    policy_config_file: _Policy = None,
    output: _Output = "table",
    placement: _Placement = None,
    scheduler_config: _SchedulerConfig = None,
    now: _Now = None,
    node_selector: _NodeSelector = None,
    max_pods_to_evict_per_node: _Limit = None,
    evict_local_storage_pods: _LocalStorage = False,
    timings: _Timings = False,
    verbose: Verbosity = 0,
) -> None:
    r"""Show what a policy would evict and why, and why the rest stays.

    Nothing is evicted and no cluster is needed: the input is what kubectl prints. Nodes and pods are enough; owners,
    volume claims, namespaces and priority classes make a better plan:

        kubectl get nodes,pods,rs,deploy,sts,ds,jobs,pvc,ns,priorityclasses \
          -A -o json > cluster.json
    """
    from restow.cli.planning import Request, answer
    from restow.policies.fallbacks import Fallbacks

    answer(
        Request(
            inputs=tuple(filename or ()),
            policy=policy_config_file,
            fallbacks=Fallbacks(node_selector, max_pods_to_evict_per_node, evict_local_storage_pods),
            output=output,
            placement=placement,
            configuration=scheduler_config,
            now=now,
            timings=timings,
            verbosity=verbose,
        )
    )
