"""The frame of the pages of ``restow serve``, and the files that they load.

Unlike a report, which is one file, these pages load style and scripts from where they come from, and nothing from
anywhere else: the content security policy that goes with them allows no inline script or style. htmx, its extension for
server-sent events and uPlot are in ``vendor``, as they were published; ``vendor/README.md`` has versions and checksums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib import resources
from types import MappingProxyType
from typing import Final, NamedTuple

from restow.reporting.html.elements import Markup, tag, text

#: The pages, by their paths.
PLACES: Final = MappingProxyType({"/": "Now", "/plan": "Plan", "/what-if": "What if", "/history": "History"})
#: Sent with every page.
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
#: What htmx would add to the page and the policy forbids.
_HTMX: Final = '{"includeIndicatorCSS":false}'
_STYLES: Final = ("vendor/uPlot.min.css", "style.css", "simulation.css", "site.css")
_SCRIPTS: Final = ("vendor/htmx.min.js", "vendor/hx-sse.min.js", "vendor/uPlot.iife.min.js", "site.js")
#: Adds to a page with a plan.
PLAN_SCRIPT: Final = "script.js"
_TYPES: Final = {"css": "text/css", "js": "text/javascript"}


def site_page(place: str, title: str, content: Sequence[Markup], scripts: Sequence[str] = ()) -> str:
    """Return a page; ``place`` is its path, and ``scripts`` are files beyond those that all pages have."""
    head = tag("head", *_meta(title), *map(_style, _STYLES))
    # htmx looks at the page as soon as that is read, for which its extension must be there: a deferred one may come late.
    body = tag("body", _links(place), *content, *map(_script, (*_SCRIPTS, *scripts)))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _meta(title: str) -> tuple[Markup, ...]:
    return (
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="htmx-config", content=_HTMX),
        # No icon, and no question for one.
        tag("link", rel="icon", href="data:,"),
        tag("title", text(f"{title} - restow")),
    )


def _style(path: str) -> Markup:
    return tag("link", rel="stylesheet", href=files()[_name(path)].address)


def _script(path: str) -> Markup:
    return tag("script", src=files()[_name(path)].address)


def _links(place: str) -> Markup:
    links = (
        tag("a", text(title), href=path, aria_current="page" if path == place else None)
        for path, title in PLACES.items()
    )
    return tag("nav", tag("b", text("restow")), *links, class_="site", aria_label="Pages")


def _name(path: str) -> str:
    return path.rpartition("/")[2]


class StaticFile(NamedTuple):
    """A file that pages load."""

    content: bytes
    content_type: str
    #: Where it is; another content has another address, so browsers may keep it.
    address: str


@cache
def files() -> Mapping[str, StaticFile]:
    """The files that pages load, by name."""
    return {_name(path): _read(path) for path in (*_STYLES, *_SCRIPTS, PLAN_SCRIPT)}


def _read(path: str) -> StaticFile:
    content = resources.files(__package__).joinpath(path).read_bytes()
    address = f"/static/{_name(path)}?{sha256(content).hexdigest()[:12]}"
    return StaticFile(content, _TYPES[path.rpartition(".")[2]], address)
