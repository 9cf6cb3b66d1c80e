"""HTML as typed strings, and the parts that pages have in common: only `text` and `tag` make markup, so that nothing is unescaped.

Pod names, reasons and policies may contain any text. A ``Markup`` is safe to put between tags; a ``str`` is not, and mypy
keeps the two apart. A page is one file that fetches nothing: style and script are inlined from the package, and a content
security policy that names the hashes of both holds the page to that. Rows of tables become cards on narrow screens.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Final, NewType

from restow.plain_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


Markup = NewType("Markup", str)

EMPTY: Final = Markup("")
_WITHOUT_CONTENT: Final = frozenset({"input", "link", "meta"})


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


def cards(rows: Iterable[Mapping[str, Markup]]) -> Markup:
    """Write rows of cells, each labelled with its column's head; nothing without rows."""
    known = list(rows)
    if not known:
        return EMPTY
    heads = tag("tr", *(tag("th", text(head), scope="col") for head in known[0]))
    body = (tag("tr", *(tag("td", cell, data_head=head) for head, cell in row.items())) for row in known)
    return tag("table", tag("thead", heads), tag("tbody", *body), class_="cards")


def left_out(count: int, most: int, elsewhere: str = "; -o json has all of them") -> Markup:
    """Say that only the first of many are shown, and where all of them are."""
    if count <= most:
        return EMPTY
    return tag("p", text(f"Showing the first {most:,} of {count:,}{elsewhere}."), class_="dim")


def whole_page(title: str, content: Sequence[Markup], styles: Sequence[str], script: str = "") -> str:
    """Return a page; ``styles`` and ``script`` are files in this folder, and the script is the body's last element."""
    style, code = "\n".join(map(_packaged, styles)), _packaged(script) if script else ""
    head = tag("head", *_meta(title, style, code), tag("style", Markup(style)))
    body = tag("body", *content, tag("script", Markup(code)) if script else EMPTY)
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def contents(places: Mapping[str, str]) -> Markup:
    """Write the links to sections: their titles by their names."""
    links = (tag("a", text(title), href=f"#{name}") for name, title in places.items())
    return tag("nav", *links, aria_label="Contents")


def origin(parts: Sequence[str]) -> Markup:
    """Write the line that says what made a page, from what."""
    shown = (tag("span", text(each)) for each in parts if each)
    return tag("p", Markup(text(" · ").join(shown)), class_="origin")


def figure(title: str, value: Markup, meaning: str) -> Markup:
    """Write one of the large figures at the top."""
    return tag("div", tag("dt", text(title)), tag("dd", value), tag("dd", text(meaning), class_="meaning"))


def facts(known: Mapping[str, str]) -> Markup:
    """Write what made a page, and from what, as terms with their values."""
    pairs = (tag("dt", text(term)) + tag("dd", text(value)) for term, value in known.items())
    return tag("dl", *map(Markup, pairs), class_="versions")


def _packaged(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _meta(title: str, style: str, script: str) -> tuple[Markup, ...]:
    scripts = f" script-src {_hash(script)};" if script else ""
    allowed = f"default-src 'none'; style-src {_hash(style)};{scripts} base-uri 'none'"
    return (
        tag("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", text(title)),
    )


def _hash(source: str) -> str:
    return f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'"


def embedded(page: str) -> str:
    """Return a whole page as an element of another one, such as a notebook's; neither styles the other."""
    return f'<iframe srcdoc="{escape(page)}" style="width: 100%; height: 32em; border: 1px solid #ccc"></iframe>'
