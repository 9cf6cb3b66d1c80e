"""ARCHITECTURE.md says what the import contracts enforce."""

from __future__ import annotations

import tomllib

from docs.pages import rows, text_of


def test_the_rooms_of_the_architecture_are_those_of_the_import_contracts():
    contracts = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["type"] == "layers")
    written = [name.rstrip("/") for name in rows(text_of("ARCHITECTURE.md")) if name.endswith("/")]
    assert written == [layer.removeprefix("restow.") for layer in reversed(layers)]
