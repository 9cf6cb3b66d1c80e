"""``restow pressure check`` on a terminal: the notable nodes, their values, and how their marks would change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable, some
from restow.reporting.terminal import joined, narrowed, widths, wrapped
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from restow.pressure.marking import Change
    from restow.pressure.situation import CheckedNode, CheckedRule, PressureCheck

_MOST_LISTED: Final = 50
_MOST_NAMED: Final = 5
_SUFFIXES: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"))
_CHANGES: Final[dict[Change, str]] = {
    "set": "would get the {mark}",
    "keep": "keeps the {mark}",
    "clear": "would lose the {mark}",
    "foreign": "{mark} not set by restow: left alone",
    "none": "",
}


def print_check(check: PressureCheck, console: Console) -> None:
    """Print the check, cut to the console's width."""
    listed = [node for node in check.nodes if _is_listed(node)]
    lines = [*_table(check.rules, listed[:_MOST_LISTED], console.width)] if listed else []
    if len(listed) > _MOST_LISTED:
        lines.append(Text(f"... and {counted(len(listed) - _MOST_LISTED, 'more node', 'more nodes')}: see -o json"))
    lines += map(Text, wrapped(_summary(check), console.width))
    console.print(*lines, sep="\n", soft_wrap=True, highlight=False)


def check_warnings(check: PressureCheck) -> Iterator[str]:
    """Yield a sentence for each rule that marks nothing although it should, and one about samples of no node."""
    for rule in check.rules:
        name = printable(rule.name)
        if rule.held_back:
            yield (
                f"rule {name}: {rule.nodes_over} of {counted(len(check.nodes), 'node')} are over its threshold, more than "
                "--max-share allows: it marks none"
            )
        elif check.nodes and all(node.values[rule.name] is None for node in check.nodes):
            yield f"rule {name}: no node has a value; try its query in Prometheus: {printable(rule.query)}"
    names = check.unmatched_instances
    if names:
        yield f"instances that are no node of the cluster: {some(names, _MOST_NAMED)}"


def short_number(value: float) -> str:
    """Write a value in three digits or a few more: ``0.912``, ``85.3``, ``11.9G``."""
    for factor, suffix in _SUFFIXES:
        if abs(value) >= factor:
            return f"{value / factor:.3g}{suffix}"
    return f"{value:.6g}" if abs(value) >= 1000 else f"{value:.3g}"


def _is_listed(node: CheckedNode) -> bool:
    return bool(node.over or node.problems) or {node.label, node.taint} != {"none"}


def _table(rules: Sequence[CheckedRule], nodes: Sequence[CheckedNode], width: int) -> Iterator[Text]:
    header = ("NODE", *map(_title, rules), "STATUS")
    rows = [header, *(_cells(node, rules) for node in nodes)]
    columns = narrowed(widths(rows), width)
    yield Text(joined(header, columns), style="bold")
    yield from (Text(joined(row, columns)) for row in rows[1:])


def _title(rule: CheckedRule) -> str:
    return f"{printable(rule.name)} {'>' if rule.direction == 'above' else '<'} {short_number(rule.threshold)}"


def _cells(node: CheckedNode, rules: Sequence[CheckedRule]) -> tuple[str, ...]:
    values = (node.values[rule.name] for rule in rules)
    cells = ("-" if value is None else short_number(value) for value in values)
    return (printable(node.name), *cells, _status(node))


def _status(node: CheckedNode) -> str:
    over = [name for name in node.over if name not in node.waiting]
    changes = [_CHANGES[change].format(mark=mark) for mark, change in (("label", node.label), ("taint", node.taint))]
    parts = [
        *filter(None, changes),
        f"over {', '.join(over)}" if over else "",
        *(f"over {name}, which waits for {time}" for name, time in node.waiting.items()),
        *(f"{name}: {problem}" for name, problem in node.problems.items()),
    ]
    return printable("; ".join(filter(None, parts)))


def marking_counts(check: PressureCheck) -> tuple[int, int, int]:
    """Count the marks that would be set, that stay, and that would be cleared."""
    changes = [change for node in check.nodes for change in (node.label, node.taint)]
    return changes.count("set"), changes.count("keep"), changes.count("clear")


def _summary(check: PressureCheck) -> str:
    new, kept, cleared = marking_counts(check)
    return (
        f"{counted(len(check.rules), 'rule')}, {counted(len(check.nodes), 'node')}, {new} would be marked, "
        f"{kept} stay marked, {cleared} would be cleared; nothing was written"
    )
