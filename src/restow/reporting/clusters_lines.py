"""What terminal and page say of many clusters, in the same words: the headline, the cells of each cluster, what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from restow.plain_text import printable
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.reporting.clusters_result import ClusterRow, ClustersPlan

HEADS: Final = ("CLUSTER", "NODES", "PODS", "MOVES", "CERTAIN", "STAYING", "CPU", "MEMORY")
_NONE: Final = "-"


def headline(found: ClustersPlan) -> str:
    """Say what there is to do: ``41 moves in 3 of 12 clusters; 1 cluster without a plan``."""
    planned = [each for each in found.clusters if not each.error]
    moving = sum(1 for each in planned if each.moves)
    what = f"{counted(found.moves, 'move')} in {moving:,} of {counted(len(planned), 'cluster')}"
    lost = len(found.clusters) - len(planned)
    lame = sum(1 for each in planned if each.problems)
    rest = [f"{counted(lost, 'cluster')} without a plan"] if lost else []
    rest += [f"a strategy could not run in {counted(lame, 'cluster')}"] if lame else []
    return "; ".join([what, *rest])


def cells(row: ClusterRow) -> Sequence[str]:
    """The cells of a cluster, in the order of ``HEADS``."""
    if row.error:
        return (printable(row.name), *[_NONE] * (len(HEADS) - 1))
    numbers = (row.nodes, row.pods, row.moves, row.certain, row.staying)
    return (printable(row.name), *(f"{each:,}" for each in numbers), _spread(row, "cpu"), _spread(row, "memory"))


def failures(found: ClustersPlan) -> Iterator[tuple[str, str]]:
    """The clusters that failed, each with a sentence for each reason."""
    for each in found.failed:
        for why in (each.error, *each.problems):
            if why:
                yield printable(each.name), printable(why)


def _spread(row: ClusterRow, resource: str) -> str:
    change = next((each for each in row.spread if each.resource == resource), None)
    return _NONE if change is None else f"{change.before:.2f} -> {change.after:.2f}"
