"""``restow operator uninstall`` on a terminal: what there is of an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.plain_text import printable
from restow.reporting.columns import joined, widths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.operator.inventory import Item

_HEAD = ("STEP", "KIND", "NAME")


def removal_lines(items: Sequence[Item]) -> Iterator[str]:
    """Yield a line for each thing, in the order of removal; no name is cut, for each is about to be removed."""
    rows = [_HEAD, *map(_row, items)]
    columns = widths(rows)
    return (joined(row, columns).rstrip() for row in rows)


def _row(item: Item) -> tuple[str, str, str]:
    name = f"{item.namespace}/{item.name}" if item.namespace else item.name
    return item.step, item.kind, printable(f"{name}: soft taints" if item.step == "taints" else name)
