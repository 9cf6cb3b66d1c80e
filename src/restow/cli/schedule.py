"""``restow schedule``: where pending pods would go, and why not elsewhere."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from restow.cli.options import (
    Context,
    Filename,
    Kubeconfig,
    NoSizeLimit,
    Now,
    SchedulerConfig,
    TableOrJson,
    Verbosity,
    WithTimings,
)

EXAMPLES = """Examples:
  restow schedule
  restow schedule -f cluster.json
  restow schedule -f cluster.json --pod shop/web-7f-x2k
  restow schedule -f cluster.json --pod shop/web-7f-x2k -o json |
    jq '.pods[0].rejected'
  restow schedule -f cluster.json --scheduler-config scheduler.yaml
  restow schedule -f nodes.json -f pods.json.gz -o json --scores-for all
"""

_POD = "Explain only this pod. If it already has a node, it is scheduled as if it were pending."
_SCORES = "Which pods get scores in JSON: needed, only those with several feasible nodes; all, those with at least one."

_Pod = Annotated[str | None, Parameter(metavar="NAMESPACE/NAME", help=_POD)]
_ScoresFor = Annotated[Literal["all", "needed"], Parameter(metavar="WHICH", help=_SCORES)]


def schedule(
    *,
    filename: Filename = None,
    pod: _Pod = None,
    scheduler_config: SchedulerConfig = None,
    output: TableOrJson = "table",
    scores_for: _ScoresFor = "needed",
    now: Now = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    no_size_limit: NoSizeLimit = False,
    timings: WithTimings = False,
    verbose: Verbosity = 0,
) -> None:
    r"""Show where pending pods would be scheduled, or why they fit nowhere.

    Schedules the pods one after the other, in the order of kube-scheduler's queue and with the rules of kube-scheduler
    1.36. Reads the live cluster, or a dump made with kubectl (-f). Nodes and pods are enough for most pods; volumes,
    topology spread and namespace selectors need more:

      (kubectl get -A -o json \
      nodes,pods,svc,deploy,rs,sts,ds,rc,jobs,ns,pc,pvc,pv,csinodes; \
      kubectl get --raw \
      /apis/autoscaling.k8s.io/v1/verticalpodautoscalers 2>/dev/null; \
      kubectl get --raw /apis/apps/v1/controllerrevisions; \
      kubectl get --raw /apis/policy/v1/poddisruptionbudgets; \
      kubectl get --raw /apis/storage.k8s.io/v1/storageclasses; \
      kubectl get --raw /apis/storage.k8s.io/v1/csidrivers; \
      kubectl get --raw /apis/storage.k8s.io/v1/csistoragecapacities; \
      kubectl get --raw /apis/storage.k8s.io/v1/volumeattachments) > cluster.json
    """
    from restow.cli.inputs import ClusterSource
    from restow.cli.scheduling import Request, answer

    answer(
        Request(
            where=ClusterSource(tuple(filename or ()), kubeconfig, context, no_size_limit),
            pod=pod,
            configuration=scheduler_config,
            output=output,
            scores_for=scores_for,
            now=now,
            timings=timings,
            verbosity=verbose,
        )
    )
