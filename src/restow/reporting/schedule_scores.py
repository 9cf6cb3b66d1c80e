"""The scores of the nodes that fit, as a table: the best nodes first, a column for each plugin that makes a difference.

Plugins that give every node the same are named in a line below. Names of plugins are long, so they stand above their
columns word by word: ``Node``, ``Resources``, ``Fit``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.text import Text

from restow.plain_text import printable
from restow.reporting.columns import GAP, cut_middle, total_width, wrapped
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from restow.scheduling.framework import Scores
    from restow.scheduling.scoring import Ranking

_MOST_NODES: Final = 12
_NARROWEST_NODE: Final = 12
_INDENT: Final = " "
_WORD: Final = re.compile(r"[A-Z]+[a-z0-9]*|[^A-Z]+")


def score_lines(names: Sequence[str], ranking: Ranking, width: int) -> Iterator[Text]:
    """Yield the table of a ranking; ``names`` are those of all nodes."""
    order = (-ranking.total).argsort(kind="stable").tolist()
    shown = order[:_MOST_NODES]
    telling = {name: each for name, each in ranking.by_plugin.items() if each.min() != each.max()}
    columns = {"total": ranking.total} | telling
    nodes = [printable(names[ranking.nodes[at]]) for at in shown]
    cells = [[str(int(each[at])) for each in columns.values()] for at in shown]
    yield from _table(list(map(_heading, columns)), nodes, cells, width)
    if len(order) > len(shown):
        yield Text(f"{_INDENT}... and {counted(len(order) - len(shown), 'more node')} that fit", style="dim")
    yield from _same_everywhere(ranking.by_plugin, telling, width)


def _table(headings: list[list[str]], nodes: list[str], cells: list[list[str]], width: int) -> Iterator[Text]:
    columns = [max(map(len, [*heading, *(row[at] for row in cells)])) for at, heading in enumerate(headings)]
    natural = max(map(cell_len, [*nodes, "NODE"]))
    room = min(natural, max(width - total_width([*columns, len(_INDENT)]) - len(GAP), _NARROWEST_NODE))
    height = max(map(len, headings))
    padded = [[""] * (height - len(heading)) + heading for heading in headings]
    for level in range(height):
        first = "NODE" if level == height - 1 else ""
        yield Text(_line(first, [heading[level] for heading in padded], room, columns), style="bold")
    best = cells[0][0]
    for node, row in zip(nodes, cells, strict=True):
        yield Text(_line(cut_middle(node, room), row, room, columns), style="green" if row[0] == best else "")


def _line(first: str, rest: Sequence[str], room: int, columns: Sequence[int]) -> str:
    cells = [f"{cell:>{column}}" for cell, column in zip(rest, columns, strict=True)]
    return GAP.join([f"{_INDENT}{first}{' ' * (room - cell_len(first))}", *cells]).rstrip()


def _heading(name: str) -> list[str]:
    """The words of a plugin's name, those that fit beside one another on one line."""
    words = _WORD.findall(name) if name != "total" else ["TOTAL"]
    longest, lines = max(map(len, words)), [""]
    for word in words:
        if len(lines[-1]) + len(word) <= longest:
            lines[-1] += word
        else:
            lines.append(word)
    return [line for line in lines if line]


def _same_everywhere(every: Mapping[str, Scores], telling: Mapping[str, Scores], width: int) -> Iterator[Text]:
    same = ", ".join(f"{name} {int(each[0])}" for name, each in every.items() if name not in telling)
    if same:
        text = f"{_INDENT}the same on every node: {same}"
        yield from (Text(line, style="dim") for line in wrapped(text, width, subsequent_indent=_INDENT * 3))
