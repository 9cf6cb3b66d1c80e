"""From the arguments of ``restow explain`` to its output: load, make the plan, ask once more, report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from rich.text import Text

from restow.cli.missing_usage import missing_usage
from restow.cli.named_objects import find_node, find_pod
from restow.cli.output import write_bytes
from restow.cli.plan_request import PlanRequest, plan_context
from restow.cli.progress import Timings, working
from restow.cli.streams import warn
from restow.cluster.snapshot import Cluster
from restow.descheduling.explaining.explanation import NodeExplanation, PodExplanation
from restow.descheduling.explaining.nodes import explain_node
from restow.descheduling.explaining.pods import explain_pod
from restow.descheduling.explaining.what_if import Setting
from restow.descheduling.planning import cycle_notes, policy_as_asked
from restow.descheduling.registry import strategies
from restow.reporting.explain_node import node_sections
from restow.reporting.explain_pod import pod_sections
from restow.reporting.json import render_explanation
from restow.reporting.table import print_sections
from restow.reporting.terminal import console


@dataclass(slots=True, frozen=True)
class Request:
    """What was asked for, as it was written."""

    plan_request: PlanRequest
    output: Literal["table", "json"]
    verbosity: int


def explain_one_pod(request: Request, name: str) -> None:
    """Explain a pod; InputError for whatever in the request cannot be used."""
    clock = Timings()
    setting, pod = _planned(request, clock, lambda cluster: find_pod(cluster.pods, name, "explain pod"))
    with clock.phase("explain"), working("asking once more"):
        explanation = explain_pod(setting, pod)
    _write(request, clock, explanation, lambda width: pod_sections(explanation, width))


def explain_one_node(request: Request, name: str) -> None:
    """Explain a node; InputError as ``explain_one_pod``."""
    clock = Timings()
    setting, node = _planned(request, clock, lambda cluster: find_node(cluster.nodes, name, "explain node"))
    with clock.phase("explain"), working("asking once more"):
        explanation = explain_node(setting, node)
    _write(request, clock, explanation, lambda width: node_sections(explanation, width))


def _planned(request: Request, clock: Timings, find: Callable[[Cluster], int]) -> tuple[Setting, int]:
    """Find what is asked about, before the plan is made."""
    asked = plan_context(request.plan_request, clock)
    index = find(asked.found.cluster)
    with clock.phase("plan"), working("making the plan"):
        cycle = asked.decide()
    warn(asked.found.missing_warning(cycle.missing, "moves"))
    warn(cycle_notes(cycle))
    warn(missing_usage(asked.found, asked.policy.loaded.policy, cycle))
    rules = policy_as_asked(asked.policy.loaded.policy, asked.placement)
    observed = asked.found.cluster
    setting = Setting(cycle, observed, rules, strategies(), asked.now, asked.placement, asked.steering, asked.profiles)
    return setting, index


def _write(
    request: Request,
    clock: Timings,
    explanation: PodExplanation | NodeExplanation,
    sections: Callable[[int], list[list[Text]]],
) -> None:
    if request.verbosity:
        warn(clock.lines())
    if request.output == "json":
        write_bytes(render_explanation(explanation))
        return
    page = console()
    print_sections(sections(page.width), page)
