"""``restow pressure check`` for many clusters on a terminal: a line for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable
from restow.reporting.pressure_table import check_warnings, marking_counts
from restow.reporting.terminal import paragraph, print_sections, table
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from restow.reporting.clusters_pressure import ClustersPressure, PressedCluster

_HEADS: Final = ("CLUSTER", "NODES", "OVER", "MARK", "KEEP", "CLEAR")
_NONE: Final = "-"
READING: Final = (
    "OVER counts nodes over a threshold of any rule, MARK those that would get a mark, KEEP those that keep theirs, CLEAR those "
    "that would lose it. Nothing was written."
)


def print_checks(found: ClustersPressure, console: Console) -> None:
    """Print the table, cut to the console's width."""
    width = console.width
    first = [Text(printable(_headline(found)), style="bold")]
    failures = (
        line
        for each in found.failed
        for line in paragraph(printable(f"{each.name}: {each.error}"), width, "red", further=2)
    )
    print_sections(
        (first, table([_HEADS, *map(_cells, found.clusters)], width), failures, paragraph(READING, width, "dim")),
        console,
    )


def warnings_of(found: ClustersPressure) -> Iterator[str]:
    """Yield what is to be said of the rules in each cluster, with its name."""
    for each in found.clusters:
        told = () if each.check is None else check_warnings(each.check)
        yield from (f"{printable(each.name)}: {sentence}" for sentence in (*each.warnings, *told))


def _headline(found: ClustersPressure) -> str:
    """Write ``rule.yaml: 3 nodes over a threshold in 2 of 12 clusters; 1 cluster gave no answer``."""
    over = [sum(bool(node.over) for node in each.check.nodes) for each in found.clusters if each.check is not None]
    pressed = sum(1 for each in over if each)
    what = f"{counted(sum(over), 'node')} over a threshold in {pressed:,} of {counted(len(over), 'cluster')}"
    lost = len(found.failed)
    return f"{found.rules}: {what}" + (f"; {counted(lost, 'cluster')} gave no answer" if lost else "")


def _cells(each: PressedCluster) -> Sequence[str]:
    if each.check is None:
        return (printable(each.name), *[_NONE] * (len(_HEADS) - 1))
    nodes = each.check.nodes
    over = sum(bool(node.over) for node in nodes)
    counts = marking_counts(each.check)
    return (printable(each.name), *(f"{number:,}" for number in (len(nodes), over, *counts)))
