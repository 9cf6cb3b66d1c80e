"""``restow explain -o json``: the explanation as a document, byte for byte the same for the same answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from restow.reporting.json import indented_json

if TYPE_CHECKING:
    from restow.descheduling.explaining.explanation import NodeExplanation, PodExplanation

#: What every document begins with.
_HEAD = ("apiVersion", "kind", "metadata")


def render_explanation(explanation: PodExplanation | NodeExplanation) -> bytes:
    """Return the document, indented by two spaces, with a final newline."""
    fields = msgspec.to_builtins(explanation)
    ordered = {name: fields[name] for name in (*_HEAD, *(name for name in fields if name not in _HEAD))}
    return indented_json(ordered) + b"\n"
