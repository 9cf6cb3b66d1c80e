"""``restow diff``: what another policy, or another moment, changes in a plan."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from cyclopts import App, Parameter

from restow.cli.help_pages import PlainPages
from restow.cli.options import (
    PATHS,
    Context,
    Filename,
    Kubeconfig,
    NoSizeLimit,
    Now,
    SchedulerConfig,
    SchedulerVersion,
    Verbosity,
)
from restow.cli.terminal import DONE, Terminal, write, write_json, write_pieces
from restow.policies.codes import Placement, SteeringMode

#: The exit status where the plans differ.
DIFFERENT: Final = 3

_EXAMPLES = """Examples:
  restow diff -f cluster.json main.yaml branch.yaml
  restow diff yesterday.json today.json
  restow diff --policy-config-file policy.yaml staging.json prod.json
  restow diff -f cluster.json main.yaml branch.yaml -o markdown

The JSON document (a move has the fields of restow plan -o json):
  {"apiVersion": "restow.dev/v1alpha1", "kind": "PlanDifference",
   "old": {"name": "main.yaml", "moves": 27, "refusals": 14, ...},
   "new": {...}, "same": 24, "onlyOld": [...], "onlyNew": [...],
   "elsewhere": [{"pod": {...}, "oldFrom": "a", "oldTo": "b", ...}],
   "refusals": [{"stage": "budget", "code": "...", "old": 3, "new": 5}],
   "spread": [{"resource": "cpu", "old": 0.21, "new": 0.16}]}
"""
_SIDE = "A plan that restow plan -o json wrote, or a DeschedulerPolicy; the other is of the same kind."
_POLICY = "A policy for both: then the two files are dumps of clusters."
_HOW = "prove or upstream, as for restow plan."
_STEER = "nominate, fence, prefer or none, as for restow plan."

app = App(name="diff", help_epilogue=_EXAMPLES, help_formatter=PlainPages(), sort_key=1.5)


@app.default
def diff(
    old: Annotated[str, PATHS, Parameter(help=_SIDE)],
    new: Annotated[str, PATHS, Parameter(help=_SIDE)],
    /,
    *,
    filename: Filename = None,
    policy_config_file: Annotated[str | None, PATHS, Parameter(metavar="FILE", help=_POLICY)] = None,
    output: Annotated[
        Literal["table", "json", "markdown"],
        Parameter(name=["-o", "--output"], metavar="FORM", help="table, json or markdown (for a pull request)."),
    ] = "table",
    placement: Annotated[Placement | None, Parameter(metavar="HOW", help=_HOW)] = None,
    steering: Annotated[SteeringMode | None, Parameter(metavar="HOW", help=_STEER)] = None,
    scheduler_config: SchedulerConfig = None,
    scheduler_version: SchedulerVersion = None,
    now: Now = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    no_size_limit: NoSizeLimit = False,
    verbose: Verbosity = 0,
) -> int:
    """Show what differs between two plans: who moves only in one of them, who moves elsewhere, what stays why.

    Of two policies both are planned on one reading of the cluster: live, or a dump (-f). Of two plans that were saved
    nothing else is read. The exit status is 0 without a difference and 3 with one.
    """
    from restow.application.clusters import ClusterSource
    from restow.application.differing import DiffRequest
    from restow.application.differing import diff as compared
    from restow.application.planning import PlanRequest

    where = ClusterSource(tuple(filename or ()), kubeconfig, context, no_size_limit, scheduler_version)
    feedback = Terminal()
    plan = PlanRequest(where, policy_config_file, placement, steering, scheduler_config, now)
    found = compared(DiffRequest(old, new, plan), feedback)
    feedback.warn_of_timings(verbose)
    if output == "json":
        write_json(found)
    elif output == "markdown":
        from restow.reporting.difference_table import markdown_form

        write_pieces(markdown_form(found))
    else:
        from restow.reporting.difference_table import print_difference
        from restow.reporting.terminal import shown

        write(shown(lambda console: print_difference(found, console)))
    return DONE if found.is_empty else DIFFERENT
