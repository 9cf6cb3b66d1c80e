"""``restow plan``: what would move, from where to where and why, and why everything else stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import App, Parameter, validators

from restow.cli.help_pages import PlainPages
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
    Verbosity,
    WithTimings,
)
from restow.cli.terminal import DONE, FAILED, Terminal, warn, write, write_result
from restow.policies.codes import Placement, PlanFinding, SteeringMode

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection

    from restow.application.filtering import PlanFilter
    from restow.application.goals import GoalRequest
    from restow.application.many_clusters import ManyClustersRequest
    from restow.application.planning import PlanRequest

#: The exit status of a plan that has what --fail-on names.
UNWANTED: Final = 3
#: These forms show the notes; it is not known of others whether they do, so their notes go to stderr.
_FOR_PEOPLE: Final = ("table", "wide", "html", "markdown")
#: Who reads these forms sees stderr too.
_ON_A_TERMINAL: Final = ("table", "wide")
_CURVE_FORMS: Final = ("table", "json", "html")
_MANY_FORMS: Final = ("table", "json", "html")

_EXAMPLES = """Examples:
  restow plan --policy-config-file policy.yaml
  restow plan --context staging --policy-config-file policy.yaml -o wide
  restow plan -f cluster.json -n shop --strategy RemoveDuplicates -o wide
  restow plan -f cluster.json --policy-config-file policy.yaml
  restow plan -f cluster.json.gz -f usage.json -o wide
  restow plan -f cluster.json --steering nominate
  restow plan -f cluster.json --steering fence
  restow plan -f dumps/ -o html > plan.html
  restow plan --contexts 'prod-*' --contexts staging --pages plans
  restow plan --snapshots snapshots --policy-config-file policy.yaml
  restow plan -f cluster.json --goal balance --budget 300
  restow plan -f cluster.json --goal balance --curve -o html > curve.html
  restow plan --goal pack --free karpenter.sh/nodepool=spot
  restow plan --goal pack --prices prices.yaml
  restow plan --goal spread
  restow plan --goal room --for team-a/trainer-0
  restow plan --goal room --for '4 nvidia.com/gpu'
  restow plan -f cluster.json --placement upstream
  restow plan -f cluster.json -o markdown --exit-code
  restow plan -f cluster.json --kubedescheduler kubedescheduler.yaml
  restow plan -f cluster.json -o json --now 2026-11-21T00:00:00Z | jq .summary
"""

_FORM = "table, wide (everything), json, yaml, html, markdown (for a pull request), or a form that an installed package adds."
_HOW = (
    "prove (the default, unless the policy sets it) moves a pod only where kube-scheduler's rules place its "
    "replacement; upstream decides as the Kubernetes Descheduler does."
)
_STEER = (
    "nominate: assume that restow sends each replacement to its planned node; fence and prefer: that it taints the "
    "nodes where replacements must not land; none: that the scheduler is left alone. Without it the policy decides, and "
    "where that says auto, none."
)
_KUBE = "KubeDescheduler (operator.openshift.io/v1), or - for standard input: plan as its operator would, in place of a policy."
_GOAL = (
    "Plan the moves that together do most for one goal, steered, in place of a policy: balance (evenly full nodes), pack "
    "(fewer nodes in use), spread (topology spread constraints that are kept), room (places for pending pods), a goal that an installed package adds, or several: in order (pack,balance), or by weights (pack:3+balance)."
)
_BUDGET = "With --goal: make at most N moves."
_FREE = "With --goal pack: empty only nodes with these labels."
_PRICES = "With --goal pack: what nodes cost, a list 'prices' of entries with nodes (labels) and price, or - for standard input."
_FOR = "With --goal room: NAMESPACE/NAME of a pending pod, all (the default), or what a pod would request, such as '4 nvidia.com/gpu, 16 cpu'. Repeatable."
_CURVE = (
    "With --goal: what more moves are worth. Plans with several budgets up to --budget, or to all moves that are worth it, as "
    "table, json or html."
)
_PAGES = (
    "With --contexts or --snapshots: a directory for an index page, and a page and the plan as JSON of each cluster."
)
_IN = "Show only pods of this namespace. The plan is made as a whole; so with the next four options, in table and wide."
_STATUS = "Exit with status 3 if the plan has moves, as --fail-on moves does, and say nothing of it."
_FAIL_ON = (
    "Exit with status 3, and say why, if the plan has: moves; possible ones, whose gain is no surer; loops, moves "
    "refused because they would be undone; problems, anything that is warned of. Repeatable."
)
_OLD = "unless the policy sets it (a flag of Descheduler 0.10 to 0.22)."


def _is_a_form(_type: object, name: str) -> None:
    from restow.reporting.forms import form_names

    known = [f'"{each}"' for each in form_names()]
    if f'"{name}"' not in known:
        raise ValueError(f"Choose from: {', '.join(known)}.")


def _added_forms() -> str:
    """What the help of -o says beyond what is always so: the forms of installed packages."""
    from restow.reporting.forms import installed_names

    names = installed_names()
    return f"Installed: {', '.join(names)}." if names else ""


app = App(
    name="plan",
    help_epilogue=_EXAMPLES,
    help_formatter=PlainPages({"--output": _added_forms}),
    sort_key=1,
)
_Output = Annotated[str, Parameter(name=["-o", "--output"], metavar="FORM", validator=_is_a_form, help=_FORM)]
_Placement = Annotated[Placement | None, Parameter(metavar="HOW", help=_HOW)]
_Steering = Annotated[SteeringMode | None, Parameter(metavar="HOW", help=_STEER)]
_KubeDescheduler = Annotated[str | None, PATHS, Parameter(name="--kubedescheduler", metavar="FILE", help=_KUBE)]
_Goal = Annotated[str | None, Parameter(metavar="NAME", help=_GOAL)]
_Budget = Annotated[int | None, Parameter(metavar="N", validator=validators.Number(gte=0), help=_BUDGET)]
_Free = Annotated[str, Parameter(metavar="LABELS", show_default=False, help=_FREE)]
_Prices = Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_PRICES)]
_For = Annotated[list[str] | None, Parameter(name="--for", metavar="POD", negative=(), help=_FOR)]
_Curve = Annotated[bool, Parameter(name="--curve", negative=(), show_default=False, help=_CURVE)]
_Pages = Annotated[str | None, PATHS, Parameter(metavar="DIRECTORY", help=_PAGES)]
_NodeSelector = Annotated[str | None, Parameter(metavar="LABELS", help=f"Process only these nodes, {_OLD}")]
_Limit = Annotated[
    int | None,
    Parameter(
        metavar="N", validator=validators.Number(gte=0), help=f"Evict at most N pods per node (0: no limit), {_OLD}"
    ),
]
_Namespace = Annotated[str | None, Parameter(name=["-n", "--namespace"], metavar="NAME", help=_IN)]
_Strategy = Annotated[str | None, Parameter(metavar="NAME", help="Show only what this strategy wants.")]
_Node = Annotated[
    str | None, Parameter(metavar="NAME", help="Show only what leaves this node, comes to it or stays on it.")
]
_Workload = Annotated[str | None, Parameter(metavar="KIND/NAME", help="Show only the pods of this workload.")]
_Most = Annotated[int | None, Parameter(metavar="N", validator=validators.Number(gte=0), help="Show at most N moves.")]
_ExitCode = Annotated[bool, Parameter(negative=(), show_default=False, help=_STATUS)]
_FailOn = Annotated[list[PlanFinding] | None, Parameter(metavar="WHAT", negative=(), help=_FAIL_ON)]
_LocalStorage = Annotated[bool, Parameter(show_default=False, help=f"Also evict pods with local storage, {_OLD}")]


@app.default
def plan(
    *,
    filename: Filename = None,
    policy_config_file: PolicyConfigFile = None,
    goal: _Goal = None,
    budget: _Budget = None,
    free: _Free = "",
    prices: _Prices = None,
    for_: _For = None,
    curve: _Curve = False,
    kubedescheduler: _KubeDescheduler = None,
    output: _Output = "table",
    namespace: _Namespace = None,
    strategy: _Strategy = None,
    node: _Node = None,
    workload: _Workload = None,
    limit: _Most = None,
    placement: _Placement = None,
    steering: _Steering = None,
    scheduler_config: SchedulerConfig = None,
    scheduler_version: SchedulerVersion = None,
    now: Now = None,
    node_selector: _NodeSelector = None,
    max_pods_to_evict_per_node: _Limit = None,
    evict_local_storage_pods: _LocalStorage = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    contexts: Contexts = None,
    snapshots: Snapshots = None,
    pages: _Pages = None,
    no_size_limit: NoSizeLimit = False,
    exit_code: _ExitCode = False,
    fail_on: _FailOn = None,
    timings: WithTimings = False,
    verbose: Verbosity = 0,
) -> int:
    r"""Show which pods a policy would move, where to and why, and why the others are refused.

    Evicts nothing and writes nothing. Reads the live cluster, or a dump made with kubectl (-f). restow moves a pod only
    if kube-scheduler's rules find a node for its replacement, so a dump should hold everything those rules read. This
    command makes one; --raw also prints lists without objects, which show that there are none:

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

    The exit status is 0 for every plan, even without moves, and 1 if a strategy could not run. With --exit-code it is 3
    if the plan has moves; --fail-on names what else a pipeline may not want.
    """
    from restow.application.clusters import ClusterSource
    from restow.application.filtering import PlanFilter
    from restow.application.goals import GoalRequest, policy_or_goal
    from restow.application.planning import PlanRequest
    from restow.policies.fallbacks import Fallbacks

    asked = GoalRequest(goal, budget, free, tuple(for_ or ()), prices)
    request = PlanRequest(
        where=ClusterSource(tuple(filename or ()), kubeconfig, context, no_size_limit, scheduler_version),
        policy=policy_config_file if curve else policy_or_goal(policy_config_file, asked),
        placement=placement,
        steering=steering,
        configuration=scheduler_config,
        now=now,
        fallbacks=Fallbacks(node_selector, max_pods_to_evict_per_node, evict_local_storage_pods),
        kubedescheduler=kubedescheduler,
    )
    if curve:
        return _print_curve(request, asked, output)
    part = PlanFilter(namespace, strategy, node, workload, limit)
    if contexts or snapshots or pages:
        from restow.application.many_clusters import ManyClustersRequest
        from restow.application.named_clusters import ClusterNames

        _check_form(output, part, of_many=True)
        many = ManyClustersRequest(request, ClusterNames(tuple(contexts or ()), snapshots), pages)
        return _print_many(many, output, fail_on or (), exit_code=exit_code)
    return _print(request, output, part, fail_on or (), timings=timings, verbosity=verbose, exit_code=exit_code)


def _print_curve(request: PlanRequest, goal: GoalRequest, output: str) -> int:
    from restow.application.curves import curve
    from restow.errors import InputError
    from restow.reporting.curve_table import print_curve

    if output not in _CURVE_FORMS:
        raise InputError(f"-o {output}: a curve is shown as {', '.join(_CURVE_FORMS)}")
    write_result(curve(request, goal, Terminal()), output, print_curve, "restow.reporting.html.curve")
    return 0


def _print_many(request: ManyClustersRequest, output: str, fail_on: Collection[PlanFinding], *, exit_code: bool) -> int:
    """Plan many clusters and write a line for each; the exit status is the worst of them."""
    from restow.application.many_clusters import plan_many
    from restow.application.plan_findings import findings_of_many
    from restow.errors import InputError
    from restow.reporting.clusters_table import print_clusters

    if PlanFinding.LOOPS in fail_on:
        raise InputError("--fail-on loops: it is known of one cluster only; plan each with --context or -f")
    found = plan_many(request, Terminal())
    write_result(found, output, print_clusters, "restow.reporting.html.clusters")
    return _status(findings_of_many(found), fail_on, failed=bool(found.failed), exit_code=exit_code)


def _status(found: Counter[PlanFinding], fail_on: Collection[PlanFinding], *, failed: bool, exit_code: bool) -> int:
    """The exit status of what was found, and a sentence on stderr for each finding that is not wanted."""
    from restow.application.plan_findings import unwanted

    sentences = list(unwanted(found, fail_on))
    warn(sentences)
    if failed:
        return FAILED
    return UNWANTED if sentences or (exit_code and found[PlanFinding.MOVES]) else DONE


def _print(
    request: PlanRequest,
    output: str,
    part: PlanFilter,
    fail_on: Collection[PlanFinding],
    *,
    timings: bool,
    verbosity: int,
    exit_code: bool,
) -> int:
    """Make the plan and write it; returns the exit status: 1 if a strategy could not run, 3 for what is not wanted."""
    from msgspec import structs

    from restow.application.filtering import part_of
    from restow.application.plan_findings import findings_of
    from restow.application.planning import make, report_of, steering_note, with_timings
    from restow.reporting.forms import form_named

    _check_form(output, part)
    write_as, feedback = form_named(output), Terminal()
    whole = make(request, feedback)
    found = findings_of(whole.plan, feedback.warnings)
    planned = part_of(whole, part)
    notes, origin = planned.notes, planned.cluster.origin
    if timings:
        planned = structs.replace(planned, plan=with_timings(planned.plan, feedback))
        origin = f"{origin}, {feedback.timings.seconds['load']:.1f} s"
    if output not in _FOR_PEOPLE:
        feedback.warn(notes)
    elif request.steering is None:
        notes += steering_note(planned, feedback)
    feedback.warn_of_timings(verbosity)
    if output not in _ON_A_TERMINAL:
        notes += planned.missing
    write(write_as(report_of(planned, origin, notes)))
    return _status(found, fail_on, failed=bool(planned.plan.problems), exit_code=exit_code)


def _check_form(output: str, part: PlanFilter, *, of_many: bool = False) -> None:
    """A part of a plan is for people; programs and ``restow apply`` get the whole."""
    from restow.errors import InputError

    if of_many and (part or output not in _MANY_FORMS):
        raise InputError(
            f"-o {output}: many clusters are shown as {' or '.join(_MANY_FORMS)}, whole; --pages makes a page of each"
        )
    if part and output not in _ON_A_TERMINAL:
        raise InputError(
            f"-o {output} has the whole plan: -n, --strategy, --node, --workload and --limit are for table and wide"
        )
