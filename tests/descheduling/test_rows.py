"""No row of the table of the Descheduler's unit tests loses its test unnoticed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
REFERENCE = TESTS.parent / "docs/reference"
PAGE = (REFERENCE / "conformance.md").read_text("utf-8")

#: A line of a table of rows: section, what, rows, tested, files.
_LINE = re.compile(r"^\| ([A-Z]{1,2}) \| [^|]+ \| (\d+) \| (\d+) \| ([^|]*) ?\|$", re.MULTILINE)
#: As ids of cases, and in the names of tests.
_ID = re.compile(r"(?<![A-Za-z0-9])([A-Z]{1,2})-([A-Z]?\d+[a-z]?)(?!\d)")
_NAME = re.compile(r"_(rd|ln|lt|lp|lv|hn|ht|uh|pl|rf|tr|ia|na|nt|ts|nd|nf|nw|ph|x)_?(\d\d[a-z]?)(?![0-9])")


def rows_in(text: str) -> Iterator[tuple[str, str]]:
    """The section and number of the rows that a test module names."""
    yield from _ID.findall(text)
    for name in re.findall(r"def (test_\w+)", text):
        yield from ((section.upper(), number) for section, number in _NAME.findall(name))


def test_as_many_rows_are_tested_as_the_page_says() -> None:
    for section, rows, tested, where in _LINE.findall(PAGE):
        texts = [(TESTS / name).read_text("utf-8") for name in re.findall(r"`([^`]+)`", where)]
        found = {number for text in texts for of, number in rows_in(text) if of == section}
        assert int(tested) <= min(len(found), int(rows)), f"{section}: {sorted(found)}"


def totals(page: str) -> str:
    lines = _LINE.findall(page)
    return f"{sum(int(tested) for *_, tested, _ in lines)} of {sum(int(rows) for _, rows, *_ in lines)}"


def test_the_totals_are_those_of_the_tables() -> None:
    assert f"[rows of its unit tests](#the-descheduler) | {totals(PAGE)} |" in PAGE
    scheduler = totals((REFERENCE / "scheduler-rows.md").read_text("utf-8"))
    assert f"[rows of its unit tests](scheduler-rows.md) | {scheduler} |" in PAGE
