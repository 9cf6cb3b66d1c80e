"""``restow schedule``: where pending pods would go, and why not elsewhere."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from restow.cli.options import PATHS, Context, Filename, Kubeconfig, Verbosity

EXAMPLES = """Examples:
  restow schedule
  kubectl get nodes,pods -A -o json | restow schedule -f -
  restow schedule -f cluster.json --pod shop/web-7f-x2k
  restow schedule -f cluster.json --pod shop/web-7f-x2k -o json |
    jq '.pods[0].rejected'
  restow schedule -f cluster.json --scheduler-config scheduler.yaml
  restow schedule -f nodes.json -f pods.json.gz -o json --scores-for all
"""

_POD = "Explain this pod alone; one that has a node is judged as if it were pending."
_CONFIG = "A KubeSchedulerConfiguration (v1), or - for standard input; without it kube-scheduler's defaults."
_SCORES = "Of which pods JSON has scores: needed, those with several feasible nodes, or all with any."
_TIME = "The time of the answer, such as 2026-11-21T00:00:00Z; without it the clock's."
_TIMINGS = "Add the seconds of each phase to the metadata."

_Pod = Annotated[str | None, Parameter(metavar="NAMESPACE/NAME", help=_POD)]
_Config = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_CONFIG)]
_Output = Annotated[Literal["table", "json"], Parameter(name=["-o", "--output"], metavar="FORM", help="table or json.")]
_ScoresFor = Annotated[Literal["all", "needed"], Parameter(metavar="WHICH", help=_SCORES)]
_Now = Annotated[str | None, Parameter(metavar="TIME", help=_TIME)]
_Timings = Annotated[bool, Parameter(show_default=False, help=_TIMINGS)]


def schedule(
    *,
    filename: Filename = None,
    pod: _Pod = None,
    scheduler_config: _Config = None,
    output: _Output = "table",
    scores_for: _ScoresFor = "needed",
    now: _Now = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    timings: _Timings = False,
    verbose: Verbosity = 0,
) -> None:
    r"""Show where pending pods would go, and why not elsewhere.

    Pods are taken in the order of kube-scheduler's queue, each on what the one before has left; the rules are those of
    kube-scheduler 1.36. The cluster is the live one, or what kubectl printed of one (-f). Nodes and pods are enough for
    most pods; volumes, spreading and namespace selectors need more:

        kubectl get nodes,pods,svc,rs,sts,rc,pvc,pv,sc,csinodes,csidrivers,pdb,ns \
          -A -o json > cluster.json
    """
    from restow.cli.inputs import Where
    from restow.cli.scheduling import Request, answer

    answer(
        Request(
            where=Where(tuple(filename or ()), kubeconfig, context),
            pod=pod,
            configuration=scheduler_config,
            output=output,
            scores_for=scores_for,
            now=now,
            timings=timings,
            verbosity=verbose,
        )
    )
