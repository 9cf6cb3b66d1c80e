"""Many clusters on a terminal: a line for each, and a sentence for each without a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable
from restow.reporting.clusters_lines import HEADS, cells, failures, headline
from restow.reporting.terminal import labelled, paragraph, print_sections, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from restow.reporting.clusters_result import ClustersPlan

READING: Final = (
    "CERTAIN counts moves whose gain is certain, STAYING pods that a strategy wants to move and that stay. CPU and MEMORY: the "
    "standard deviation of the nodes' shares of what is requested, now and after the plan."
)


def print_clusters(found: ClustersPlan, console: Console) -> None:
    """Print the table, cut to the console's width."""
    width = console.width
    about = labelled("policy", [printable(found.metadata.policy), found.metadata.generated_at], width)
    first = [Text(headline(found), style="bold")]
    sections = (
        about,
        first,
        table([HEADS, *map(cells, found.clusters)], width),
        _failures(found, width),
        paragraph(READING, width, "dim"),
    )
    print_sections(sections, console)


def _failures(found: ClustersPlan, width: int) -> Iterator[Text]:
    for name, why in failures(found):
        yield from paragraph(f"{name}: {why}", width, "red", further=2)
