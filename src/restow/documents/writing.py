"""Plain data to YAML that reads back the same, here and in Go.

PyYAML writes for its own reader. Go's reads more words as booleans and numbers (``y``, ``0o7``), so text that either
would misread is quoted.
"""

from __future__ import annotations

from typing import Any

import yaml

from restow.documents.nodes import resolve


class _Dumper(yaml.CSafeDumper):
    """Writes mappings in their own order, lists indented, and never an alias."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # A text of several lines is a file inside the document; it stays readable as a block.
    style = "|" if "\n" in text else None if isinstance(resolve(text), str) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def write_yaml(document: dict[str, Any]) -> str:
    """Return a document of plain data as YAML that a terminal shows as it is."""
    text = _dumped(document, allow_unicode=True)
    # PyYAML leaves marks that reorder a line as they are; then everything beyond ASCII is escaped.
    return text if text.replace("\n", "").isprintable() else _dumped(document, allow_unicode=False)


def _dumped(document: dict[str, Any], *, allow_unicode: bool) -> str:
    return str(yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=allow_unicode, width=100))
