"""``restow schedule``: where pending pods would go, and why not elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from cyclopts import App, Parameter

from restow.cli.options import (
    Context,
    Filename,
    Kubeconfig,
    NoSizeLimit,
    Now,
    SchedulerConfig,
    SchedulerVersion,
    TableOrJson,
    Verbosity,
    WithTimings,
)
from restow.cli.terminal import Terminal, write_pieces
from restow.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.text import Text

    from restow.application.scheduling import ScheduleRequest, Scheduling
    from restow.reporting.schedule_table import ScheduledCluster
    from restow.scheduling.loop.decision import SchedulingDecision

Made = TypeVar("Made")

_EXAMPLES = """Examples:
  restow schedule
  restow schedule -f cluster.json
  restow schedule -f cluster.json --pod shop/web-7f-x2k
  restow schedule -f cluster.json --pod shop/web-7f-x2k -o json |
    jq '.pods[0].rejected'
  restow schedule -f cluster.json --scheduler-config scheduler.yaml
  restow schedule -f nodes.json -f pods.json.gz -o json --scores-for all
"""

app = App(name="schedule", help_epilogue=_EXAMPLES, sort_key=3)

_POD = "Explain only this pod. If it already has a node, it is scheduled as if it were pending."
_SCORES = "Which pods get scores in JSON: needed, only those with several feasible nodes; all, those with at least one."

_Pod = Annotated[str | None, Parameter(metavar="NAMESPACE/NAME", help=_POD)]
_ScoresFor = Annotated[Literal["all", "needed"], Parameter(metavar="WHICH", help=_SCORES)]


@app.default
def schedule(
    *,
    filename: Filename = None,
    pod: _Pod = None,
    scheduler_config: SchedulerConfig = None,
    scheduler_version: SchedulerVersion = None,
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

    Schedules the pods one after the other, in the order of kube-scheduler's queue and with its rules. Reads the live
    cluster, or a dump made with kubectl (-f). Nodes and pods are enough for most pods; volumes, topology spread and
    namespace selectors need more:

      (kubectl get -A -o json \
      nodes,pods,svc,deploy,rs,sts,ds,rc,jobs,ns,pc,quota,pvc,pv,csinodes; \
      kubectl get --raw \
      /apis/autoscaling.k8s.io/v1/verticalpodautoscalers 2>/dev/null; \
      kubectl get --raw \
      /apis/resource.k8s.io/v1/devicetaintrules 2>/dev/null; \
      kubectl get --raw \
      /apis/scheduling.k8s.io/v1alpha1/workloads 2>/dev/null; \
      kubectl get --raw \
      /apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies \
      2>/dev/null; \
      kubectl get -A -o json podgroups.scheduling.k8s.io 2>/dev/null; \
      kubectl get -A -o json \
      resourceclaims,resourceclaimtemplates,deviceclasses,resourceslices \
      2>/dev/null; \
      kubectl get --raw /apis/apps/v1/controllerrevisions; \
      kubectl get --raw /apis/policy/v1/poddisruptionbudgets; \
      kubectl get --raw /apis/storage.k8s.io/v1/storageclasses; \
      kubectl get --raw /apis/storage.k8s.io/v1/csidrivers; \
      kubectl get --raw /apis/storage.k8s.io/v1/csistoragecapacities; \
      kubectl get --raw /apis/storage.k8s.io/v1/volumeattachments) > cluster.json
    """
    from restow.application.clusters import ClusterSource
    from restow.application.scheduling import ScheduleRequest, prepare

    where = ClusterSource(tuple(filename or ()), kubeconfig, context, no_size_limit, scheduler_version)
    feedback = Terminal()
    request = ScheduleRequest(where, pod, scheduler_config, now)
    scheduling = prepare(request, feedback)
    printed = _Output(request, scheduling, feedback, timings, verbose)
    if output == "json":
        printed.write_json(scores_for)
    elif pod is None:
        printed.print_table()
    else:
        printed.print_explanation()


@dataclass(slots=True, frozen=True)
class _Output:
    """Writes what a scheduling comes to."""

    request: ScheduleRequest
    scheduling: Scheduling
    feedback: Terminal
    timings: bool
    verbosity: int

    def write_json(self, scores_for: Literal["all", "needed"]) -> None:
        from msgspec import UNSET

        from restow.kube.timestamps import format_time
        from restow.reporting.schedule_result import Outcomes, ScheduleMetadata, render_pod, render_result

        outcomes = Outcomes(self.scheduling.found.cluster, scores_for)
        lines = self._each(lambda decision: render_pod(outcomes.of(decision)))
        lines += [render_pod(outcomes.gated(*each)) for each in sorted(self.scheduling.queue.gated.items())]
        seconds = self.feedback.timings.seconds if self.timings else UNSET
        metadata = ScheduleMetadata(format_time(self.scheduling.now), __version__, seconds)
        write_pieces(render_result(metadata, lines))

    def print_table(self) -> None:
        from restow.reporting.schedule_table import PodRow, pod_row, print_schedule
        from restow.reporting.terminal import console

        place, cluster = self._place(), self.scheduling.found.cluster
        rows = self._each(lambda decision: pod_row(cluster, decision))
        gated = sorted(self.scheduling.queue.gated.items())
        rows += [PodRow(cluster.pods.full_name(pod), "gated", why=why) for pod, why in gated]
        print_schedule(rows, place, console())

    def print_explanation(self) -> None:
        from restow.reporting.schedule_explanation import Aside, explanation, gated
        from restow.reporting.terminal import console, print_sections

        page, place, asked = console(), self._place(), self.scheduling
        cluster = asked.found.cluster

        def explain(decision: SchedulingDecision) -> list[list[Text]]:
            could_win = len(asked.schedulers.scheduler_of(decision.pod).odds(decision).nodes)
            lacking, kubelet = partial(asked.lacking_devices, decision.pod), partial(asked.kubelet, decision.pod)
            aside = Aside(asked.ahead, could_win, lacking, kubelet)
            return explanation(cluster, decision, aside, page.width)

        pages = self._each(explain)
        pages += [gated(cluster, pod, why, page.width) for pod, why in asked.queue.gated.items()]
        for sections in pages:
            print_sections([[*place.lines(page.width), *sections[0]], *sections[1:]], page)

    def _each(self, make: Callable[[SchedulingDecision], Made]) -> list[Made]:
        """Render each decision as it is made; then print the timings where ``-v`` asks for them."""
        made: list[Made] = []
        for decision in self.scheduling.decisions(self.feedback):
            with self.feedback.timings.phase("report"):
                made.append(make(decision))
        self.feedback.warn_of_timings(self.verbosity)
        return made

    def _place(self) -> ScheduledCluster:
        from restow.application.files import file_name
        from restow.reporting.schedule_table import ScheduledCluster
        from restow.scheduling.sampling.landing_odds import feasible_to_find

        found, path = self.scheduling.found, self.request.configuration
        nodes, seconds = len(found.cluster.nodes), self.feedback.timings.seconds["load"]
        profiles = self.scheduling.configuration.profiles
        return ScheduledCluster(
            nodes=nodes,
            pods=len(found.cluster.pods),
            sources=f"{found.origin}, {seconds:.1f} s" if self.timings else found.origin,
            configuration="" if path is None else file_name(path),
            sampled=any(feasible_to_find(nodes, each.percentage_of_nodes_to_score) < nodes for each in profiles),
        )
