"""The pages of the course show what is in its files, run all its scenarios, and are the same in both languages."""

from __future__ import annotations

import re
from textwrap import indent

import pytest

from docs.pages import ROOT, blocks, name_of
from docs.test_course_scenarios import COURSE, SCENARIOS

PAGES = ROOT / "docs" / "tutorials" / "scheduling"
ENGLISH = sorted(PAGES.glob("*.md"))
CHAPTERS = [page for page in ENGLISH if page.stem != "index"]
_FROM = "from: "


@pytest.mark.parametrize("page", ENGLISH, ids=name_of)
def test_what_is_shown_of_a_file_is_in_it(page):
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.mark.startswith(_FROM):
            text = (ROOT / block.mark.removeprefix(_FROM)).read_text(encoding="utf-8")
            assert any(indent(block.text, " " * by) in f"{text}\n" for by in range(0, 24, 2)), block.text


@pytest.mark.parametrize("page", CHAPTERS, ids=name_of)
def test_every_manifest_of_a_chapter_is_code_of_the_project(page):
    """Nothing is copied: each block is an excerpt of a file, or a command that is run."""
    marks = [block.mark for block in blocks(page.read_text(encoding="utf-8"))]
    assert all(mark == "run" or mark.startswith(f"{_FROM}examples/course/{page.stem}/") for mark in marks)


def test_every_scenario_has_a_chapter_that_runs_it():
    text = "".join(page.read_text(encoding="utf-8") for page in CHAPTERS)
    run = {ROOT / path for path in re.findall(r"^\$ restow simulate -f (\S+)$", text, re.MULTILINE)}
    assert run == {*SCENARIOS}
    assert {page.stem for page in CHAPTERS} == {path.name for path in COURSE.iterdir()}
