"""Cells in columns: natural widths, narrowed until they fit, cut in the middle where names are too long.

A name's ends say more than its middle (the workload in front, the random suffix behind), and reasons are wrapped, never
cut. ``rich.table`` cuts at the end only; therefore these few functions.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

GAP: Final = "  "
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


def wrapped(text: str, width: int, **options: Any) -> list[str]:
    """Return the lines of a sentence, broken neither at a hyphen nor before a percent sign; options as `textwrap.wrap`."""
    kept = text.replace(" %", f"{_NO_BREAK_SPACE}%")
    lines = textwrap.wrap(kept, width, break_on_hyphens=False, **options)
    return [line.replace(_NO_BREAK_SPACE, " ") for line in lines]


def next_commands(wanted: Mapping[str, str], width: int) -> Iterator[Text]:
    """Yield commands and their descriptions, in two columns; a command that is too long for them gets its own line."""
    room = width - len(_WIDE_GAP) - max(map(len, wanted.values()), default=0)
    longest = max((len(each) for each in wanted if len(each) <= room), default=0)
    for command, meaning in wanted.items():
        padded = f"{command:<{longest}}{_WIDE_GAP}"
        yield Text.assemble(padded, (meaning, "dim")) if len(padded) + len(meaning) <= width else Text(command)
