"""The manual pages, from the help of each command: ``PYTHONPATH=tests python -m docs.man_pages`` writes them again.

A page of help is regular: usage, paragraphs, groups of entries that are indented by two columns with their meaning from
the 28th on, and examples. That is all that is read here, so a page says what ``--help`` says, in the same words.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from itertools import groupby
from pathlib import Path
from typing import Final
from unittest import mock

import restow
from restow.cli.app import call

FOLDER: Final = Path(__file__).parents[2] / "docs" / "man"
#: An entry of a group: its name, and its meaning on the same line or on the next ones.
_ENTRY: Final = re.compile(r"^  (\S.*?)(?:\s{2,}(\S.*))?$")
_GROUP: Final = re.compile(r"^(\S.*):$")
_EXAMPLES: Final = "Examples"


def pages() -> dict[str, str]:
    """The text of each page, by the name of its file: of every command, and of the commands of those that are groups."""
    return {f"{'-'.join(('restow', *command))}.1": man_page(command, told) for command, told in _helps(())}


def _helps(command: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    told = _help(command)
    yield command, told
    for block in _blocks(told):
        if block[0] == "Commands:":
            for name in [entry[1] for line in block[1:] if (entry := _ENTRY.match(line)) and line[2] != "-"]:
                yield from _helps((*command, name))


def _help(command: Sequence[str]) -> str:
    """What ``--help`` prints in 80 columns."""
    written = io.StringIO()
    with redirect_stdout(written), mock.patch.dict(os.environ, {"COLUMNS": "80"}):
        assert call([*command, "--help"]) == 0
    return written.getvalue()


def man_page(command: Sequence[str], told: str) -> str:
    """The manual page of a command with this help."""
    usage, *blocks = _blocks(told)
    title = "-".join(("restow", *command))
    prose = [each for each in blocks if not _GROUP.match(each[0])]
    first = " ".join(line.strip() for line in prose[0]).rstrip(".")
    lines = [
        f'.TH "{title.upper()}" "1" "" "restow {restow.__version__}" "restow"',
        ".SH NAME",
        f"{_escaped(title)} \\- {_escaped(first[0].lower() + first[1:])}",
        ".SH SYNOPSIS",
        f".B {_escaped(usage[0].removeprefix('Usage: '))}",
        ".SH DESCRIPTION",
        *(line for each in prose for line in _paragraph(each)),
        *(line for each in blocks if _GROUP.match(each[0]) for line in _group(each)),
    ]
    return "\n".join(lines) + "\n"


def _blocks(told: str) -> list[list[str]]:
    """What stands between empty lines."""
    groups = groupby(told.rstrip().splitlines(), key=bool)
    return [list(lines) for is_text, lines in groups if is_text]


def _paragraph(lines: Sequence[str]) -> list[str]:
    if lines[0].startswith(" "):
        return [".PP", ".EX", *map(_escaped, lines), ".EE"]
    return [".PP", *map(_escaped, lines)]


def _group(lines: Sequence[str]) -> Iterator[str]:
    title = lines[0].rstrip(":")
    yield f".SH {_escaped(title.upper())}"
    if title == _EXAMPLES:
        yield from (".EX", *(_escaped(line.removeprefix("  ")) for line in lines[1:]), ".EE")
        return
    for line in lines[1:]:
        entry = _ENTRY.match(line)
        if entry is None:
            yield _escaped(line.strip())
            continue
        yield from (".TP", f".B {_escaped(entry[1])}")
        if entry[2]:
            yield _escaped(entry[2])


def _escaped(line: str) -> str:
    escaped = line.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def write() -> None:
    """Write all pages, and delete those of commands that are gone."""
    FOLDER.mkdir(exist_ok=True)
    for file in FOLDER.glob("*.1"):
        file.unlink()
    for name, text in pages().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    write()
