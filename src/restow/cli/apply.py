"""``restow apply``: carries out a plan that was written before, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from restow import garbage
from restow.application import LEASE
from restow.cli.options import PATHS, STDIN, Context, Kubeconfig, TableOrJson, Verbosity, Yes
from restow.cli.terminal import DONE, FAILED, INTERRUPTED, can_ask, timed, write_json
from restow.errors import InputError

if TYPE_CHECKING:
    from restow.application.applying import ApplyRequest

_EXAMPLES = """Examples:
  restow plan --policy-config-file policy.yaml -o json > plan.json
  restow apply plan.json
  restow apply plan.json --dry-run
  restow apply plan.json --yes -o json > result.json
  restow apply plan.json --policy-config-file policy.yaml
  restow apply plan.json --digest sha256:$(sha256sum < plan.json | cut -c1-64)
"""

app = App(name="apply", help_epilogue=_EXAMPLES, sort_key=5)


_Plan = Annotated[str, PATHS, Parameter(name="PLAN", help="The plan, as restow plan -o json wrote it, or -.")]
_DryRun = Annotated[bool, Parameter(show_default=False, help="Show what would be done, and write nothing.")]
_Lease = Annotated[
    str,
    Parameter(
        metavar="NAMESPACE/NAME",
        help="The lease that restow run holds where it evicts. It is taken while pods are evicted. The ConfigMap of "
        "steering is in its namespace.",
    ),
]
_NoLease = Annotated[
    bool,
    Parameter(
        show_default=False, help="Take no lease, even if another process holds it. Then replacements are not steered."
    ),
]


_Policy = Annotated[
    str | None,
    PATHS,
    Parameter(
        name="--policy-config-file",
        metavar="FILE",
        help="Apply the plan only if it was made with this policy. The plan's own policy counts.",
    ),
]
_Digest = Annotated[
    str | None,
    Parameter(metavar="sha256:DIGITS", help="Apply the plan only if its file has this digest (sha256sum PLAN)."),
]


@app.default
def apply(
    plan: _Plan,
    /,
    *,
    policy_config_file: _Policy = None,
    digest: _Digest = None,
    yes: Yes = False,
    dry_run: _DryRun = False,
    output: TableOrJson = "table",
    lease: _Lease = LEASE,
    no_lease: _NoLease = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    verbose: Verbosity = 0,
) -> int:
    """Carry out exactly the plan that restow plan -o json wrote.

    Refuses the plan of another cluster. Checks every move again on the live cluster and refuses those that do not hold any
    more. Shows a table, and what the plan's policy protects less than the default, and asks before it evicts. Evicts no pod that the plan does not name, and goes by the policy that the plan was made with. Ctrl-C
    begins no more evictions and waits for the replacements that are on their way; a second Ctrl-C does not wait.

    The exit status is 0 if all that the table promised was done, 1 if something was not, 2 for a plan that cannot be
    applied here, 130 after Ctrl-C.
    """
    from restow.application.applying import ApplyRequest

    taken = None if no_lease else lease
    request = ApplyRequest(plan, dry_run, taken, kubeconfig, context, policy_config_file, digest)
    with timed("apply", verbose):
        return _apply(request, output, yes=yes)


def _apply(request: ApplyRequest, output: Literal["table", "json"], *, yes: bool) -> int:
    """Apply the plan and print the result; returns the exit status."""
    from restow.application import applying
    from restow.cli.apply_audience import TerminalAudience
    from restow.in_thread import in_own_loop
    from restow.reporting.apply_table import print_result

    if not (yes or request.dry_run) and not _can_ask(request):
        raise InputError("there is no terminal to ask at: add --yes to carry the plan out, or --dry-run to look at it")
    order = applying.order_of(request)
    # Unlike the commands that only read, this one lasts as long as pods take to start.
    garbage.collect()
    audience = TerminalAudience(asks=not yes, has_stdout=output == "table")
    applied = in_own_loop(applying.apply(request, order, audience))
    summary = applied.result.summary
    if output == "json":
        write_json(applied.result)
    elif not request.dry_run and summary.refused < summary.moves:
        print_result(applied.result, audience.page())
    if applied.result.metadata.interrupted:
        return INTERRUPTED
    return DONE if applied.is_kept else FAILED


def _can_ask(request: ApplyRequest) -> bool:
    """Whether a terminal can answer a question; not if the plan comes from standard input."""
    return STDIN not in (request.plan, request.policy) and can_ask()
