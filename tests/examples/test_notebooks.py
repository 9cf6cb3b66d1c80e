"""The notebooks of examples/ run from the first cell to the last, and show what they promise."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def shown(notebook: Path) -> Iterator[Any]:
    """Run the cells of a notebook in order; yield the value of each last line that is an expression, as Jupyter shows it."""
    names: dict[str, Any] = {}
    for cell in json.loads(notebook.read_bytes())["cells"]:
        if cell["cell_type"] == "code":
            *before, last = ast.parse(cell["source"], cell["id"]).body
            exec(compile(ast.Module(before, []), cell["id"], "exec"), names)
            if isinstance(last, ast.Expr):
                yield eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
            else:
                exec(compile(ast.Module([last], []), cell["id"], "exec"), names)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(FOLDER)
    values = list(shown(notebook))
    pages = [value._repr_html_() for value in values if hasattr(value, "_repr_html_")]
    assert any("27 moves" in page for page in pages)
    assert all(len(repr(value)) < 2000 for value in values)
    assert "stays" in capsys.readouterr().out


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(notebook: Path) -> None:
    cells = [each for each in json.loads(notebook.read_bytes())["cells"] if each["cell_type"] == "code"]
    assert cells
    assert all(each["outputs"] == [] and each["execution_count"] is None for each in cells)
