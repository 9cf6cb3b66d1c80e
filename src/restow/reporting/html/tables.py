"""Tables whose rows become cards on narrow screens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.reporting.html.elements import EMPTY, Markup, tag, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def cards(rows: Iterable[Mapping[str, Markup]]) -> Markup:
    """Write rows of cells, each labelled with its column's head; nothing without rows."""
    known = list(rows)
    if not known:
        return EMPTY
    heads = tag("tr", *(tag("th", text(head), scope="col") for head in known[0]))
    body = (tag("tr", *(tag("td", cell, data_head=head) for head, cell in row.items())) for row in known)
    return tag("table", tag("thead", heads), tag("tbody", *body), class_="cards")


def left_out(count: int, most: int) -> Markup:
    """Say that only the first of many are shown, and where all of them are."""
    if count <= most:
        return EMPTY
    return tag("p", text(f"Showing the first {most:,} of {count:,}; -o json has all of them."), class_="dim")
