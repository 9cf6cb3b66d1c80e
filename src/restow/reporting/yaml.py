"""``-o yaml``: the JSON document as YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import yaml

from restow.reporting.json import document

if TYPE_CHECKING:
    from restow.descheduling.plan import Plan


def render_yaml(plan: Plan) -> str:
    """Return the same fields in the same order as `render_json`, with a final newline."""
    plain = msgspec.to_builtins(document(plan))
    text = _dumped(plain, allow_unicode=True)
    # PyYAML leaves marks that reorder a line as they are; then everything beyond ASCII is escaped.
    return text if text.replace("\n", "").isprintable() else _dumped(plain, allow_unicode=False)


def _dumped(plain: object, *, allow_unicode: bool) -> str:
    return str(
        yaml.dump(
            plain, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=allow_unicode, default_flow_style=False
        )
    )
