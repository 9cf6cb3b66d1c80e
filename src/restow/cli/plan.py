"""``restow plan``: what would move, from where to where and why, and why everything else stays."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter, validators

from restow.cli.options import (
    Context,
    Filename,
    Kubeconfig,
    NoSizeLimit,
    Now,
    Output,
    Placement,
    PolicyConfigFile,
    SchedulerConfig,
    Verbosity,
    WithTimings,
)

EXAMPLES = """Examples:
  restow plan --policy-config-file policy.yaml
  restow plan --context staging --policy-config-file policy.yaml -o wide
  restow plan -f cluster.json --policy-config-file policy.yaml
  restow plan -f cluster.json.gz -f usage.json -o wide
  restow plan -f dumps/ -o html > plan.html
  restow plan -f cluster.json --placement upstream
  restow plan -f cluster.json -o json --now 2026-11-21T00:00:00Z | jq .summary
"""

_FORM = "table, wide (everything), json, yaml or html."
_HOW = (
    "prove (what is done without it) names where each pod will land and moves none without a place; "
    "upstream does what the Kubernetes Descheduler does."
)
_OLD = "where the policy does not say (a flag of Descheduler 0.10 to 0.22)."

_Output = Annotated[Output, Parameter(name=["-o", "--output"], metavar="FORM", help=_FORM)]
_Placement = Annotated[Placement | None, Parameter(metavar="HOW", help=_HOW)]
_NodeSelector = Annotated[str | None, Parameter(metavar="LABELS", help=f"The nodes to look at, {_OLD}")]
_Limit = Annotated[
    int | None, Parameter(metavar="N", validator=validators.Number(gte=0), help=f"The limit (0 is none), {_OLD}")
]
_LocalStorage = Annotated[bool, Parameter(show_default=False, help=f"Evict pods with local storage too, {_OLD}")]


def plan(
    *,
    filename: Filename = None,
    policy_config_file: PolicyConfigFile = None,
    output: _Output = "table",
    placement: _Placement = None,
    scheduler_config: SchedulerConfig = None,
    now: Now = None,
    node_selector: _NodeSelector = None,
    max_pods_to_evict_per_node: _Limit = None,
    evict_local_storage_pods: _LocalStorage = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    no_size_limit: NoSizeLimit = False,
    timings: WithTimings = False,
    verbose: Verbosity = 0,
) -> None:
    r"""Show what a policy would move, from where to where and why, and why the rest stays.

    Nothing is evicted and nothing is written. The cluster is the live one, or what kubectl printed of one (-f). No move
    is made without a place that the scheduler's own rules give, so a dump should hold all that they look at. This
    command makes one; lists that it asks for by --raw tell also that there are none:

      (kubectl get -A -o json \
      nodes,pods,svc,rs,sts,rc,jobs,ns,pc,pvc,pv,csinodes,volumeattachments; \
      kubectl get --raw /apis/policy/v1/poddisruptionbudgets; \
      kubectl get --raw /apis/storage.k8s.io/v1/storageclasses; \
      kubectl get --raw /apis/storage.k8s.io/v1/csidrivers; \
      kubectl get --raw /apis/storage.k8s.io/v1/csistoragecapacities) > cluster.json
    """
    from restow.cli.inputs import Where
    from restow.cli.planning import Request, answer
    from restow.cli.question import Question
    from restow.policies.fallbacks import Fallbacks

    question = Question(
        where=Where(tuple(filename or ()), kubeconfig, context, no_size_limit),
        policy=policy_config_file,
        placement=placement,
        configuration=scheduler_config,
        now=now,
        fallbacks=Fallbacks(node_selector, max_pods_to_evict_per_node, evict_local_storage_pods),
    )
    answer(Request(question, output, timings, verbose))
