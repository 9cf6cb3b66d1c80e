"""Rows as Markdown, and their place in a document."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from bench.cases import Size
from bench.documents import put
from bench.programs import Measured
from bench.rows import Row

#: Headings and widths; the first column is text, the others are figures.
_COLUMNS = (
    ("scenario", 33),
    ("evictions", 9),
    ("deciding: upstream", 18),
    ("restow", 8),
    ("factor", 7),
    ("process: upstream", 17),
    ("restow", 8),
    ("memory: upstream", 16),
    ("restow", 8),
    ("growth", 11),
)


def header() -> str:
    """The first two lines of the table."""
    rule = "|".join("-" * (width + 1) + ("-" if column == 0 else ":") for column, (_, width) in enumerate(_COLUMNS))
    return f"{_line([name for name, _ in _COLUMNS])}\n|{rule}|"


def line(row: Row, limit: float) -> str:
    """One row: seconds of deciding, seconds and memory of the whole processes, growth of process and of deciding."""
    upstream, restow = row.upstream, row.restow
    return _line(
        [
            row.case.name,
            _evictions(row),
            *(_deciding(each, limit) for each in (upstream, restow)),
            _factor(row, limit),
            *(_at_least(each) + f"{each.wall:.1f} s" for each in (upstream, restow)),
            *(_at_least(each) + f"{each.peak / 1e6:,.0f} MB" for each in (upstream, restow)),
            _growth(row),
        ]
    )


def _line(cells: list[str]) -> str:
    widths = [width for _, width in _COLUMNS]
    figures = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return f"| {' | '.join([cells[0].ljust(widths[0]), *figures])} |"


def _evictions(row: Row) -> str:
    ours, theirs = row.restow.evictions, row.upstream.evictions
    if ours is None:
        return "?"
    if theirs is None or theirs == ours:
        return f"{ours:,}"
    return f"{ours:,} ~ {theirs:,}" if row.case.varies else f"{ours:,}, not {theirs:,}"


def _at_least(measured: Measured) -> str:
    return "> " if measured.deciding is None else ""


def _deciding(measured: Measured, limit: float) -> str:
    return f"> {limit:.0f} s" if measured.deciding is None else f"{measured.deciding:.2f} s"


def _factor(row: Row, limit: float) -> str:
    if row.restow.deciding is None:
        return "?"
    upstream = limit if row.upstream.deciding is None else row.upstream.deciding
    factor = upstream / row.restow.deciding
    return _at_least(row.upstream) + (f"{factor:,.0f}" if factor >= 10 else f"{factor:.1f}")


def _growth(row: Row) -> str:
    deciding = row.deciding_growth()
    return f"{row.process_growth():.1f} / " + (f"{deciding:.1f}" if deciding is not None else "-")


@dataclass(slots=True, frozen=True)
class Table:
    """All rows of one size with what they were measured on."""

    name: str
    size: Size
    limit: float
    rows: list[Row]

    def markdown(self) -> str:
        """The table with one line above it that names cluster and machine."""
        lines = [header(), *(line(row, self.limit) for row in self.rows)]
        return "\n".join([f"{self.size.nodes:,} nodes, {self.size.pods:,} pods; {machine()}.", "", *lines])


def machine() -> str:
    """Processors, memory and Python in words."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{os.cpu_count()} processors, {memory:.0f} GiB of memory, Python {platform.python_version()}"


def replace(document: Path, table: Table) -> None:
    """Put the table between the markers of its size in the document. ValueError where there are none."""
    put(document, table.name, table.markdown())
