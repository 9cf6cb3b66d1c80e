"""Why a pod stays or moves, and what a plan does to a node, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from restow.application.explaining import explained_node, explained_pod
from restow.descheduling.explaining.explanation import NodeExplanation, PodExplanation
from restow.reporting.explain_node import node_sections
from restow.reporting.explain_pod import pod_sections
from restow.reporting.json import render_explanation
from restow.reporting.table import print_sections
from restow.reporting.terminal import shown

if TYPE_CHECKING:
    from rich.text import Text

    from restow.application.feedback import Collected
    from restow.application.plan_context import PlanRequest


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
