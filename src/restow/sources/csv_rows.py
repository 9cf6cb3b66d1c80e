"""Rows of a CSV file by the names in its first line, each with its line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from restow.errors import InputError


@dataclass(slots=True, frozen=True)
class CsvRows:
    """The names of the columns, and the rows that are not empty; to be read once."""

    header: tuple[str, ...]
    rows: Iterator[tuple[int, Mapping[str, str]]]


def read_rows(text: str, origin: str) -> CsvRows:
    """The rows of a text; InputError, there or while they are read, names file and line of what is no CSV."""
    lines = _lines(text, origin)
    _, names = next(lines, (1, []))
    header = tuple(map(str.strip, names))
    return CsvRows(header, _rows(lines, header, origin))


def _lines(text: str, origin: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise InputError(f"{origin}:{reader.line_num}: not valid CSV: {error}") from error


def _rows(
    lines: Iterator[tuple[int, list[str]]], header: tuple[str, ...], origin: str
) -> Iterator[tuple[int, Mapping[str, str]]]:
    for line, row in lines:
        if len(row) not in (0, len(header)):
            raise InputError(f"{origin}:{line}: has {len(row)} columns, not {len(header)}")
        if row:
            yield line, dict(zip(header, map(str.strip, row), strict=True))
