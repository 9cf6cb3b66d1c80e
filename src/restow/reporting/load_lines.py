"""How full the nodes are before and after, on a terminal: the fullest node, the spread, one character a node."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from rich.text import Text

from restow.reporting.answer import predicts_load
from restow.reporting.wording import counted, percent, resource_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.descheduling.plan import NodeLoad, ResourceLoad
    from restow.reporting.forms import Report

_LABEL: Final = 8
_COLUMN_GAP: Final = 4
_FIGURES: Final = ("max", "spread")
_MOST_PICTURED: Final = 2

LEVELS: Final = "▁▂▃▄▅▆▇█"
_MOST_BUCKETS: Final = 40


class _Change(Struct, frozen=True):
    """A figure before and after; ``after`` is None where the plan does not predict it."""

    before: str
    after: str | None
    style: str = ""

    def text(self) -> Text:
        if self.after is None:
            return Text(self.before)
        return Text.assemble(self.before, (" -> ", "dim"), (self.after, self.style))


def load_lines(report: Report, width: int) -> Iterator[Text]:
    """Yield the section's lines: resources side by side, as many as fit; only the load before where none is predicted."""
    names = shown_resources(report)
    columns = [_column(report, each) for each in names]
    if not _nodes_fit(report, width):
        columns = [column[: len(_FIGURES)] for column in columns]
    while columns and _width(columns) > width:
        columns.pop()
    if not columns:
        return
    yield _line("", [Text(name, style="bold") for name in names], columns)
    for index, label in enumerate(_FIGURES):
        yield _line(label, [column[index] for column in columns], columns)
    if all(len(column) > len(_FIGURES) for column in columns):
        yield _line("nodes", [column[-1] for column in columns], columns)


def _nodes_fit(report: Report, width: int) -> bool:
    """Whether a character a node fits below the figures of the two resources that matter most."""
    columns = [_column(report, each) for each in shown_resources(report)[:_MOST_PICTURED]]
    return len(report.loads) <= _MOST_BUCKETS and _width(columns) <= width


def shown_resources(report: Report) -> list[str]:
    """Return the resources that any node has and any pod requests: CPU and memory first."""
    load = report.plan.summary.utilisation
    used = {name for side in (load.before, load.after) for name, each in side.items() if each.max > 0}
    return sorted(used & load.before.keys() & load.after.keys(), key=resource_order)


def node_lines(report: Report, width: int) -> Iterator[Text]:
    """Yield the nodes on lines of their own where they do not fit below the figures: in groups where they are many."""
    if _nodes_fit(report, width) or not shown_resources(report):
        return
    count = len(report.loads)
    if count > _MOST_BUCKETS:
        yield Text(
            f"{counted(count, 'node')} in {_MOST_BUCKETS} groups of about {count // _MOST_BUCKETS}, fullest first"
        )
    for resource in shown_resources(report)[:_MOST_PICTURED]:
        pairs = node_fractions(report.loads, resource)
        if count > _MOST_BUCKETS:
            pairs.sort(reverse=True)
        sides = [("before", 0), ("after", 1)] if predicts_load(report.plan) else [("now", 0)]
        for label, side in sides:
            picture = sparkline(bucketed([pair[side] for pair in pairs]))
            yield Text(f"{resource if side == 0 else '':<{_LABEL}} {label:<6}  {picture}")


def node_fractions(loads: tuple[NodeLoad, ...], resource: str) -> list[tuple[float, float]]:
    """Return what is requested before and after as fractions of allocatable, for the nodes that have the resource."""
    having = (load.resources[resource] for load in loads if load.resources.get(resource, (0, 0, 0))[0] > 0)
    return [(before / allocatable, after / allocatable) for allocatable, before, after in having]


def _column(report: Report, resource: str) -> list[Text]:
    load = report.plan.summary.utilisation
    known = predicts_load(report.plan)
    changes = _figures(load.before[resource], load.after[resource], known=known)
    pairs = node_fractions(report.loads, resource)
    if pairs and len(report.loads) <= _MOST_BUCKETS:
        before, after = (sparkline(side) for side in zip(*pairs, strict=True))
        changes.append(_Change(before, after if known else None))
    return [each.text() for each in changes]


def _figures(before: ResourceLoad, after: ResourceLoad, *, known: bool) -> list[_Change]:
    maximum, spread = (
        _Change(
            form(getattr(before, name)),
            form(getattr(after, name)) if known else None,
            _style(getattr(before, name), getattr(after, name)),
        )
        for name, form in (("max", percent), ("spread", "{:.2f}".format))
    )
    return [maximum, spread]


def _style(before: float, after: float) -> str:
    """Green for a lower value, red for a higher one."""
    return "green" if after < before else "red" if after > before else ""


def _width(columns: list[list[Text]]) -> int:
    return _LABEL + sum(_cell_width(column) for column in columns) + _COLUMN_GAP * (len(columns) - 1) + 1


def _cell_width(column: list[Text]) -> int:
    return max(each.cell_len for each in column)


def _line(label: str, cells: list[Text], columns: list[list[Text]]) -> Text:
    line = Text(f"{label:<{_LABEL}} ")
    for cell, column in zip(cells, columns, strict=False):
        line.append_text(cell)
        line.append(" " * (_cell_width(column) - cell.cell_len + _COLUMN_GAP))
    line.rstrip()
    return line


def sparkline(fractions: Sequence[float]) -> str:
    """Return one character a value; values outside 0 to 1 show as the nearest end."""
    top = len(LEVELS) - 1
    return "".join(LEVELS[min(max(round(each * top), 0), top)] for each in fractions)


def bucketed(values: Sequence[float], most: int = _MOST_BUCKETS) -> list[float]:
    """Return the values, or the means of ``most`` neighbouring groups of nearly equal size where there are more."""
    if len(values) <= most:
        return list(values)
    edges = [index * len(values) // most for index in range(most + 1)]
    return [sum(values[low:high]) / (high - low) for low, high in pairwise(edges)]
