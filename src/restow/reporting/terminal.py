"""Text on a terminal: consoles, sections, labelled lines, and cells in columns.

Columns have their natural widths, narrowed until they fit. A name that is too long is cut in the middle, for its ends say
more (the workload in front, the random suffix behind); reasons are wrapped, never cut. ``rich.table`` cuts at the end
only; therefore these few functions.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """A console on stdout, or stderr, that leaves long lines to the terminal."""
    from rich.console import Console  # noqa: PLC0415 - what writes JSON asks for none

    return Console(soft_wrap=True, highlight=False, stderr=stderr)


def shown(print_on: Callable[[Console], None]) -> str:
    """What would be printed on stdout, with the colours that its terminal has."""
    terminal = console()
    with terminal.capture() as captured:
        print_on(terminal)
    return captured.get()


GAP: Final = "  "
#: Of a labelled line: the width of the label, and what stands between parts.
_LABEL: Final = 7
_PART_GAP: Final = "   "
#: Between commands and their descriptions.
_WIDE_GAP: Final = "   "
_NARROWEST: Final = 8
_NO_BREAK_SPACE: Final = "\u00a0"


def widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column's widest cell."""
    return [max(map(cell_len, column)) for column in zip(*rows, strict=True)]


def narrowed(natural: Sequence[int], available: int) -> list[int]:
    """Return widths that fit in ``available`` characters with gaps: the widest columns give, none below eight characters."""
    result = list(natural)
    while total_width(result) > available and max(result) > _NARROWEST:
        result[result.index(max(result))] -= 1
    return result


def total_width(columns: Sequence[int]) -> int:
    """Return what columns of these widths take on a line, gaps between them included."""
    return sum(columns) + len(GAP) * max(len(columns) - 1, 0)


def cut_middle(text: str, width: int) -> str:
    """Return the text, or its two ends around an ellipsis: ``shop/web-7f…-x2k9q``."""
    if cell_len(text) <= width:
        return text
    tail = (width - 1) // 2
    head = width - 1 - tail
    return f"{text[:head]}…{text[len(text) - tail :]}"


def without_shared_domain(names: Sequence[str]) -> dict[str, str]:
    """Return names without the domain that all of them share: ``ip-10-0-1-23…`` for ``ip-10-0-1-23.eu-west-1.internal``."""
    domains = {name.partition(".")[2] for name in names}
    if len(domains) != 1 or domains == {""}:
        return {name: name for name in names}
    return {name: f"{name.partition('.')[0]}…" for name in names}


def joined(cells: Sequence[str], columns: Sequence[int]) -> str:
    """Return one line; cells are cut in the middle to their column, the last one is not padded."""
    cut = [cut_middle(cell, width) for cell, width in zip(cells, columns, strict=True)]
    padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(cut, columns, strict=True)]
    return GAP.join(padded).rstrip()


def table(rows: Sequence[Sequence[str]], width: int) -> Iterator[Text]:
    """Yield rows in columns, a space before each; the first row names the columns."""
    columns = narrowed(widths(rows), width - 1)
    for number, row in enumerate(rows):
        yield Text(f" {joined(row, columns)}", style="" if number else "bold")


def wrapped(text: str, width: int, **options: Any) -> list[str]:
    """Return the lines of a sentence, broken neither at a hyphen nor before a percent sign; options as `textwrap.wrap`."""
    kept = text.replace(" %", f"{_NO_BREAK_SPACE}%")
    lines = textwrap.wrap(kept, width, break_on_hyphens=False, **options)
    return [line.replace(_NO_BREAK_SPACE, " ") for line in lines]


def paragraph(text: str, width: int, style: str = "", *, indent: int = 0, further: int | None = None) -> Iterator[Text]:
    """Yield the lines of a text, ``indent`` spaces in; all but the first ``further`` spaces in, where that is given."""
    begin, next_lines = " " * indent, " " * (indent if further is None else further)
    for line in wrapped(text, width, initial_indent=begin, subsequent_indent=next_lines):
        yield Text(line, style=style)


def more_lines(count: int, shown: int, where: str = "-o json", *, indent: int = 1) -> Iterator[Text]:
    """Say how many there are beyond those that are shown, and where to see them; nothing where all are shown."""
    if count > shown:
        yield Text(f"{' ' * indent}... and {count - shown:,} more: see {where}", style="dim")


def next_commands(wanted: Mapping[str, str], width: int) -> Iterator[Text]:
    """Yield commands and their descriptions, in two columns; a command that is too long for them gets its own line."""
    room = width - len(_WIDE_GAP) - max(map(len, wanted.values()), default=0)
    longest = max((len(each) for each in wanted if len(each) <= room), default=0)
    for command, meaning in wanted.items():
        padded = f"{command:<{longest}}{_WIDE_GAP}"
        yield Text.assemble(padded, (meaning, "dim")) if len(padded) + len(meaning) <= width else Text(command)


def print_sections(sections: Iterable[Iterable[Text]], console: Console) -> None:
    """Print the sections that have lines, an empty line between two."""
    filled = filter(None, map(list, sections))
    for index, lines in enumerate(filled):
        console.print(*([Text()] if index else []), *lines, sep="\n", soft_wrap=True, highlight=False)


def labelled(label: str, parts: list[str], width: int, style: str = "dim") -> Iterator[Text]:
    """Yield a label in its style and its parts, as many on a line as fit."""
    room = width - _LABEL - len(GAP)
    lines: list[str] = []
    for part in parts:
        if lines and len(f"{lines[-1]}{_PART_GAP}{part}") <= room:
            lines[-1] += _PART_GAP + part
        else:
            lines += wrapped(part, room)
    for index, line in enumerate(lines):
        yield Text.assemble((f"{'' if index else label:<{_LABEL}}{GAP}", style), line)
