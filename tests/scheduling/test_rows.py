"""No row of the table of kube-scheduler's rules loses its test unnoticed."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs/reference/scheduler-rows.md"

#: A line of the page's table: section, rule, rows, tested, files.
_LINE = re.compile(r"^\| ([A-Z]) \| [^|]+ \| (\d+) \| (\d+) \| ([^|]+) \|$", re.MULTILINE)
#: In capitals wherever it stands; in small letters in the names and ids of tests.
_ROW = re.compile(r"(?<![A-Za-z0-9])[A-X]\d\d(?!\d)")
_NAME = re.compile(r'def test_(\w+)|\bid="([^"]+)"')


def rows_in(text: str) -> set[str]:
    """The rows that a test module names."""
    words = re.split(r"[_-]", "_".join(name for names in _NAME.findall(text) for name in names).upper())
    return {*_ROW.findall(text), *filter(_ROW.fullmatch, words)}


def test_as_many_rows_are_tested_as_the_reference_says() -> None:
    sections = {section: (int(tested), where) for section, _, tested, where in _LINE.findall(PAGE.read_text("utf-8"))}
    assert set(sections) == set("ABCDEFGHIJKLMNORSTUVX")
    for section, (tested, where) in sections.items():
        texts = [(HERE / name).read_text("utf-8") for name in re.findall(r"`([^`]+)`", where)]
        found = {row for text in texts for row in rows_in(text) if row[0] == section}
        assert len(found) >= tested, f"section {section}: {sorted(found)}"
