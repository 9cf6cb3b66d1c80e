"""The manual pages say what ``--help`` says, one for each command, and are part of the wheel."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from docs.man_pages import FOLDER, man_page, pages
from docs.pages import ROOT


def test_the_pages_are_made_from_the_help() -> None:
    """PYTHONPATH=tests python -m docs.man_pages writes them again."""
    assert {each.name: each.read_text() for each in FOLDER.iterdir()} == pages()


def test_there_is_one_for_each_command() -> None:
    assert {"restow.1", "restow-plan.1", "restow-serve.1", "restow-explain-node.1"} <= pages().keys()


def test_options_that_begin_a_line_with_a_dot_are_text() -> None:
    told = "Usage: restow x\n\nDo it.\n\nOptions:\n  --a-very-long-option-of-this FILE\n                            .gz is unpacked.\n"
    assert man_page(("x",), told).endswith(".B \\-\\-a\\-very\\-long\\-option\\-of\\-this FILE\n\\&.gz is unpacked.\n")


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not here")
@pytest.mark.parametrize("page", sorted(FOLDER.iterdir()), ids=lambda page: page.stem)
def test_a_page_can_be_set(page: Path) -> None:
    ran = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert ran.stdout.startswith(f"{page.stem.upper()}(1)")


def test_a_wheel_installs_them_where_man_looks() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["shared-data"] == {"docs/man": "share/man/man1"}
