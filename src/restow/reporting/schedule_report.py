"""What the tables of ``restow schedule`` show beside the decisions: where the cluster came from and how large it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from restow.plain_text import printable
from restow.reporting.table import labelled
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text


@dataclass(slots=True, frozen=True)
class ScheduledCluster:
    """The cluster as the first line of a table tells it."""

    nodes: int
    pods: int
    #: Where it came from, such as ``cluster.json, 0.1 s``.
    sources: str
    #: The scheduler's configuration; empty is the default.
    configuration: str = ""
    #: Whether kube-scheduler would score only some of so many nodes.
    sampled: bool = False

    def lines(self, width: int) -> Iterator[Text]:
        """Yield the first lines of a table."""
        size = f"{counted(self.nodes, 'node')}, {counted(self.pods, 'pod')}"
        yield from labelled("cluster", [size, printable(self.sources)], width)
        if self.configuration:
            yield from labelled("config", [printable(self.configuration)], width)
