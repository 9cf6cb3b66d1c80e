"""What every page of a command has around its content: one file that fetches nothing.

Style and script are inlined from the package; a content security policy that names the hashes of both holds the page to
that.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from restow.reporting.html.elements import EMPTY, Markup, tag, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
