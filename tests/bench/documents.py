"""Tables in Markdown, and their places in a document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def put(document: Path, name: str, text: str) -> None:
    """Replaces what is between ``<!-- bench NAME -->`` and ``<!-- end of bench NAME -->``. ValueError without these."""
    begin, end = f"<!-- bench {name} -->", f"<!-- end of bench {name} -->"
    before, found, rest = document.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{document} has no lines {begin} and {end}")
    document.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are figures."""
    rule = ["---", *["---:"] * (len(headings) - 1)]
    return "\n".join(line(cells) for cells in (headings, rule, *rows))


def line(cells: Sequence[str]) -> str:
    """One row."""
    return f"| {' | '.join(cells)} |"
