"""The output of the how-to page works in ``restow plan``, and no file of restow knows it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import a_node, a_pod
from docs.console import agree, folder_for, output_of, runnable
from docs.output_package import MODULE, PAGE, WITH_THE_OUTPUT, installed
from restow.reporting.forms import form_names

NAME = "moves"
PLAN = f"restow plan -f examples/clusters/demo.json -o {NAME}"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The page's files, with its package installed."""
    with installed(tmp_path), folder_for(PAGE) as files:
        yield files


def test_restow_does_not_know_the_output_by_itself():
    assert NAME not in form_names()


def test_installed_as_a_package_it_writes_what_the_page_shows(folder):
    (example,) = runnable(PAGE, WITH_THE_OUTPUT)
    printed = output_of(example.command, folder)
    assert agree(example.output, printed), printed


def test_help_and_a_refused_name_tell_that_it_is_installed(folder):
    assert "Installed: moves. Default: table." in " ".join(output_of("restow plan --help", folder).split())
    assert '"markdown", "moves".' in output_of("restow plan -f examples/clusters/demo.json -o movse", folder)


def test_the_runs_notes_are_in_its_report_and_told_beside_it(folder):
    (folder / "one.json").write_text(
        "\n".join(map(json.dumps, (a_node("only"), a_pod("p", node="only")))), encoding="utf-8"
    )
    told = output_of("restow plan -f one.json -o moves > plan.md", folder)
    note = "Skipping descheduling cycle: requires >=2 nodes, found 1 ready and selected"
    assert f"* {note}\n" in (folder / "plan.md").read_text(encoding="utf-8")
    assert f"{note}\n" in told


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        pytest.param("report.loads", "report.nodes", "raised AttributeError: 'Report' object has no", id="raises"),
        pytest.param('.rstrip() + "\\n"', ".encode()", "gave bytes instead of text", id="no text"),
        pytest.param("def render", "def draw", "cannot be imported: AttributeError: module", id="not there"),
        pytest.param("printable\n", "print_it\n", "cannot be imported: ImportError:", id="broken"),
        pytest.param("def render", "render = 1\n\n\ndef draw", "is no function of a report, but int", id="a number"),
        pytest.param("    summary =", "    raise SystemExit(0)\n    summary =", "raised SystemExit: 0", id="exits"),
    ],
)
def test_a_faulty_one_ends_in_a_sentence_about_the_package(tmp_path, folder, old, new, sentence):
    written = tmp_path / f"{MODULE}.py"
    text = written.read_text(encoding="utf-8")
    assert old in text
    written.write_text(text.replace(old, new), encoding="utf-8")
    (line,) = output_of(PLAN, folder).splitlines()[-1:]
    assert line.startswith(f"entry point restow.outputs: {NAME} {sentence}")


def test_a_faulty_one_does_no_harm_where_nobody_asks_for_it(tmp_path, folder):
    (tmp_path / f"{MODULE}.py").write_text("raise ValueError", encoding="utf-8")
    printed = output_of("restow plan -f examples/clusters/demo.json -o json", folder)
    assert '"kind": "Plan"' in printed
    assert "markdown_moves" not in printed
