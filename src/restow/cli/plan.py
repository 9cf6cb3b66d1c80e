"""``restow plan``: what would move, from where to where and why, and why everything else stays."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter, validators

from restow.cli.options import (
    PATHS,
    Context,
    Filename,
    Kubeconfig,
    NoSizeLimit,
    Now,
    PolicyConfigFile,
    SchedulerConfig,
    Verbosity,
    WithTimings,
)
from restow.policies.codes import Placement, SteeringMode

if TYPE_CHECKING:
    from restow.application.plan_context import PlanRequest

#: These forms show the notes; it is not known of others whether they do, so their notes go to stderr.
_FOR_PEOPLE: Final = ("table", "wide", "html")
#: Who reads these forms sees stderr too.
_ON_A_TERMINAL: Final = ("table", "wide")

EXAMPLES = """Examples:
  restow plan --policy-config-file policy.yaml
  restow plan --context staging --policy-config-file policy.yaml -o wide
  restow plan -f cluster.json --policy-config-file policy.yaml
  restow plan -f cluster.json.gz -f usage.json -o wide
  restow plan -f cluster.json --steering nominate
  restow plan -f cluster.json --steering fence
  restow plan -f dumps/ -o html > plan.html
  restow plan -f cluster.json --placement upstream
  restow plan -f cluster.json --kubedescheduler kubedescheduler.yaml
  restow plan -f cluster.json -o json --now 2026-11-21T00:00:00Z | jq .summary
"""

_FORM = "table, wide (everything), json, yaml, html, or a form that an installed package adds."
_HOW = (
    "prove (the default, unless the policy sets it) moves a pod only where kube-scheduler's rules place its "
    "replacement; upstream decides as the Kubernetes Descheduler does."
)
_STEER = (
    "nominate plans as with replacements that are brought to the node that the plan chooses; fence and prefer as with a "
    "taint on the nodes where they must not land; none as the scheduler places them. Without it the policy decides, and "
    "where that says auto, none."
)
_KUBE = "KubeDescheduler (operator.openshift.io/v1), or - for standard input: plan as its operator would, in place of a policy."
_OLD = "unless the policy sets it (a flag of Descheduler 0.10 to 0.22)."


def _is_a_form(_type: object, name: str) -> None:
    from restow.reporting.forms import form_names

    known = [f'"{each}"' for each in form_names()]
    if f'"{name}"' not in known:
        raise ValueError(f"Choose from: {', '.join(known)}.")


def added_forms() -> str:
    """What the help of -o says beyond what is always so: the forms of installed packages."""
    from restow.reporting.forms import installed_names

    names = installed_names()
    return f"Installed: {', '.join(names)}." if names else ""


_Output = Annotated[str, Parameter(name=["-o", "--output"], metavar="FORM", validator=_is_a_form, help=_FORM)]
_Placement = Annotated[Placement | None, Parameter(metavar="HOW", help=_HOW)]
_Steering = Annotated[SteeringMode | None, Parameter(metavar="HOW", help=_STEER)]
_KubeDescheduler = Annotated[str | None, PATHS, Parameter(name="--kubedescheduler", metavar="FILE", help=_KUBE)]
_NodeSelector = Annotated[str | None, Parameter(metavar="LABELS", help=f"Process only these nodes, {_OLD}")]
_Limit = Annotated[
    int | None,
    Parameter(
        metavar="N", validator=validators.Number(gte=0), help=f"Evict at most N pods per node (0: no limit), {_OLD}"
    ),
]
_LocalStorage = Annotated[bool, Parameter(show_default=False, help=f"Also evict pods with local storage, {_OLD}")]


def plan(
    *,
    filename: Filename = None,
    policy_config_file: PolicyConfigFile = None,
    kubedescheduler: _KubeDescheduler = None,
    output: _Output = "table",
    placement: _Placement = None,
    steering: _Steering = None,
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
) -> int:
    r"""Show which pods a policy would move, where to and why, and why the others are refused.

    Evicts nothing and writes nothing. Reads the live cluster, or a dump made with kubectl (-f). restow moves a pod only
    if kube-scheduler's rules find a node for its replacement, so a dump should hold everything those rules read. This
    command makes one; --raw also prints lists without objects, which show that there are none:

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

    The exit status is 0 for every plan, even without moves, and 1 if a strategy could not run.
    """
    from restow.application.clusters import ClusterSource
    from restow.application.plan_context import PlanRequest
    from restow.policies.fallbacks import Fallbacks

    request = PlanRequest(
        where=ClusterSource(tuple(filename or ()), kubeconfig, context, no_size_limit),
        policy=policy_config_file,
        placement=placement,
        steering=steering,
        configuration=scheduler_config,
        now=now,
        fallbacks=Fallbacks(node_selector, max_pods_to_evict_per_node, evict_local_storage_pods),
        kubedescheduler=kubedescheduler,
    )
    return _print(request, output, timings=timings, verbosity=verbose)


def _print(request: PlanRequest, output: str, *, timings: bool, verbosity: int) -> int:
    """Make the plan and write it; returns the exit status: 1 if a strategy could not run."""
    from restow.application.planning import make, steering_note, with_timings
    from restow.application.policies import policy_view
    from restow.cli.feedback import Terminal
    from restow.cli.output import write
    from restow.descheduling.planning import node_loads
    from restow.reporting.forms import form_named
    from restow.reporting.report import Report

    write_as, feedback = form_named(output), Terminal()
    planned = make(request, feedback)
    plan, notes, origin = planned.plan, planned.notes, planned.cluster.origin
    if timings:
        plan = with_timings(plan, feedback)
        origin = f"{origin}, {feedback.timings.seconds['load']:.1f} s"
    if output not in _FOR_PEOPLE:
        feedback.warn(notes)
    elif request.steering is None:
        notes += steering_note(planned, feedback)
    if verbosity:
        feedback.warn(feedback.timings.lines())
    if output not in _ON_A_TERMINAL:
        notes += planned.missing
    loads, view = partial(node_loads, planned.cycle), policy_view(planned.context.policy)
    write(write_as(Report(plan, loads, origin, view, notes)))
    return int(bool(plan.problems))
