"""Where pending pods would go, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from restow.api.rows import Columns, Rows
from restow.application.scheduling import ScheduleRequest, prepare
from restow.reporting.schedule_result import Outcomes, PodOutcome

if TYPE_CHECKING:
    from restow.api.arrow import ArrowTable
    from restow.application.feedback import Collected

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
