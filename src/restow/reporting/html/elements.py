"""HTML as typed strings: only `text` and `tag` make markup, so that nothing reaches the page unescaped.

Pod names, reasons and policies may contain any text. A ``Markup`` is safe to put between tags; a ``str`` is not, and
mypy keeps the two apart.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final, NewType

from restow.plain_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

Markup = NewType("Markup", str)

EMPTY: Final = Markup("")
_WITHOUT_CONTENT: Final = frozenset({"input", "meta"})


def text(value: object) -> Markup:
    """Escape anything for an element's content; characters that do not print are replaced."""
    return Markup(escape(printable(str(value))))


def tag(name: str, /, *content: Markup, **attributes: str | int | None) -> Markup:
    """Write one element; ``class_`` is class, ``aria_label`` is aria-label, an attribute of None is left out."""
    opening = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items() if value is not None)}>"
    return Markup(opening if name in _WITHOUT_CONTENT else f"{opening}{''.join(content)}</{name}>")


def _attribute(key: str, value: str | int) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f' {name}="{text(value)}"' if value != "" else f" {name}"


def joined(parts: Iterable[Markup], separator: str = "") -> Markup:
    """Put markup side by side, ``separator`` being text between the parts."""
    return Markup(text(separator).join(parts))


def row(cells: Iterable[Markup], cell: str = "td") -> Markup:
    """Write one table row of plain cells."""
    return tag("tr", *(tag(cell, each) for each in cells))


def section(name: str, title: str, *content: Markup) -> Markup:
    """Write a section of the page with its heading; ``name`` is where links go."""
    heading = tag("h2", text(title), id=f"{name}-title")
    return tag("section", heading, *content, id=name, aria_labelledby=f"{name}-title")
