"""From the arguments of ``restow plan`` to its output: load, decide, report."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from msgspec import structs

from restow.cli.options import STDIN, Output
from restow.cli.output import write_plan
from restow.cli.policy_files import PolicyFile, policy_view, read_policy_file
from restow.cli.progress import working
from restow.cli.streams import tell
from restow.cli.timings import Timings
from restow.cluster.snapshot import Cluster
from restow.descheduling.cycle import Cycle, run_cycle
from restow.descheduling.plan import Placement
from restow.descheduling.planning import cycle_notes, make_plan, node_loads
from restow.descheduling.registry import strategies
from restow.errors import InputError
from restow.kube.timestamps import parse_time
from restow.policies.fallbacks import Fallbacks
from restow.reporting.report import Report
from restow.sources.documents import load_cluster

_DUMP = "kubectl get nodes,pods -A -o json"
#: These forms hold the plan alone; the others tell the reader of the notes themselves.
_FOR_PROGRAMS = ("json", "yaml")


@dataclass(slots=True, frozen=True)
class Request:
    """What was asked for, as it was written."""

    inputs: tuple[str, ...]
    policy: str | None
    fallbacks: Fallbacks
    output: Output
    placement: Placement | None
    now: str | None
    timings: bool
    verbosity: int


def answer(request: Request) -> None:
    """Make the plan and write it; InputError for whatever in the request cannot be used."""
    _check_inputs(request)
    clock, now = Timings(), _instant(request.now)
    policy = read_policy_file(request.policy, request.fallbacks)
    placement = _placement(request.placement, policy)
    tell(policy.loaded.warnings)
    with clock.phase("load"), working("reading the cluster"):
        cluster, found = load_cluster(request.inputs)
    tell(found.notes())
    with clock.phase("decide"), working("deciding"):
        cycle = _decide(cluster, policy, now)
    with clock.phase("report"), working("making the plan"):
        plan = make_plan(cycle, now, placement)
    tell(plan.problems)
    origin = request.inputs[0] if len(request.inputs) == 1 and request.inputs[0] != STDIN else found.origin()
    if request.timings:
        plan = structs.replace(plan, metadata=structs.replace(plan.metadata, timings=clock.seconds))
        origin = f"{origin}, {clock.seconds['load']:.1f} s"
    if request.verbosity:
        tell(clock.lines())
    notes = cycle_notes(cycle)
    if request.output in _FOR_PROGRAMS:
        tell(notes)
    write_plan(request.output, plan, lambda: Report(plan, node_loads(cycle), origin, policy_view(policy), notes))


def _decide(cluster: Cluster, policy: PolicyFile, now: int) -> Cycle:
    try:
        return run_cycle(cluster, policy.loaded.policy, strategies(), now)
    except InputError as error:
        # What only the cluster can show to be wrong in the policy: a priority class that is not there.
        raise InputError(f"{policy.name}: {error}") from error


def _check_inputs(request: Request) -> None:
    if not request.inputs:
        piped = "" if sys.stdin.isatty() else ", or pipe it in with -f -"
        raise InputError(f"say where the cluster is: {_DUMP} > cluster.json, then -f cluster.json{piped}")
    if [*request.inputs, request.policy].count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once; put the other input into a file")


def _instant(now: str | None) -> int:
    if now is None:
        return time.time_ns()
    try:
        return parse_time(now)
    except ValueError as error:
        raise InputError(f"--now: {error}") from error


def _placement(asked: Placement | None, policy: PolicyFile) -> Placement:
    where, wanted = "--placement", asked
    if asked is None:
        where, wanted = f"{policy.name}: restow.placement", policy.loaded.policy.restow.placement
    if wanted == "prove":
        raise InputError(f"{where}: prove does not exist yet; upstream does what the Kubernetes Descheduler does")
    return "upstream"
