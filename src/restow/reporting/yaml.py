"""``-o yaml``: the JSON document as YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from restow.documents.writing import write_yaml
from restow.reporting.json import document

if TYPE_CHECKING:
    from restow.descheduling.plan import PlanDocument
    from restow.reporting.report import Report


def form(report: Report) -> tuple[bytes]:
    """Render ``-o yaml``."""
    return (render_yaml(report.plan).encode(),)


def render_yaml(plan: PlanDocument) -> str:
    """Return the same fields in the same order as `render_json`, with a final newline."""
    return write_yaml(msgspec.to_builtins(document(plan)))
