"""Answers about a cluster as values: where pending pods would go, why a pod stays or moves, and what a plan does to a node."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

from restow.api.rows import Columns, Rows
from restow.application.planning import explained_node, explained_pod
from restow.application.scheduling import ScheduleRequest, prepare
from restow.explaining.explanation import NodeExplanation, PodExplanation
from restow.reporting.explain_table import node_sections, pod_sections
from restow.reporting.json import render_explanation
from restow.reporting.schedule_result import Outcomes, PodOutcome
from restow.reporting.terminal import print_sections, shown

if TYPE_CHECKING:
    from rich.text import Text

    from restow.api.arrow import ArrowTable
    from restow.application.feedback import Collected
    from restow.application.planning import PlanRequest


@dataclass(slots=True, frozen=True, repr=False)
class Explanation:
    """What each strategy and each stage of the plan says, and the smallest change that would help."""

    #: Of a pod, NAMESPACE/NAME; of a node, NAME.
    name: str
    #: Sentences about the input and the plan.
    warnings: tuple[str, ...]
    #: Everything, with the fields of ``restow explain pod NAMESPACE/NAME -o json``.
    document: PodExplanation | NodeExplanation

    def to_json(self) -> bytes:
        """The document of ``restow explain pod NAMESPACE/NAME -o json``."""
        return render_explanation(self.document)

    def __str__(self) -> str:
        """The text of ``restow explain``."""
        return shown(lambda console: print_sections(_sections(self.document, console.width), console))

    def __repr__(self) -> str:
        return f"<Explanation of {self.name}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _sections(document: PodExplanation | NodeExplanation, width: int) -> list[list[Text]]:
    if isinstance(document, PodExplanation):
        return pod_sections(document, width)
    return node_sections(document, width)


def explained(request: PlanRequest, name: str, feedback: Collected) -> Explanation:
    """Explain a pod if the name has a slash, else a node."""
    explain = explained_pod if "/" in name else explained_node
    document = explain(request, name, feedback)
    return Explanation(name, tuple(feedback.warnings), document)


_PODS: Final[Columns] = {
    "namespace": ("text", lambda outcome: outcome.pod.namespace),
    "pod": ("text", lambda outcome: outcome.pod.name),
    "node": ("text", lambda outcome: outcome.node),
    "nominated_node": ("text", lambda outcome: outcome.nominated_node),
    "feasible": ("integer", lambda outcome: len(outcome.feasible)),
    "message": ("text", lambda outcome: outcome.gated or outcome.unknown or outcome.message),
}


@dataclass(slots=True, frozen=True, repr=False)
class Schedule:
    """Where each pod would go, or why it fits nowhere, in the order of kube-scheduler's queue; then the gated pods."""

    #: Sentences about the input and what the answers depend on.
    warnings: tuple[str, ...]
    pods: Rows[PodOutcome]

    def to_arrow(self) -> ArrowTable:
        """One row for each pod."""
        return self.pods.to_arrow()

    def __repr__(self) -> str:
        placed = sum(each.node is not None for each in self.pods)
        return f"<Schedule of {len(self.pods):,} pods, {placed:,} of them placed>"

    def _repr_html_(self) -> str:
        return self.pods._repr_html_()


def scheduled(request: ScheduleRequest, feedback: Collected) -> Schedule:
    """Schedule what the request names; errors as ``prepare``."""
    scheduling = prepare(request, feedback)
    outcomes = Outcomes(scheduling.found.cluster, "needed")
    rows = [outcomes.of(decision) for decision in scheduling.decisions(feedback)]
    rows += [outcomes.gated(*each) for each in sorted(scheduling.queue.gated.items())]
    return Schedule(tuple(feedback.warnings), Rows("pods", rows, _PODS))
