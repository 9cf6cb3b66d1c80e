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
from typing import Final

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


def _style(name: str) -> Markup:
    return tag("link", rel="stylesheet", href=_address(name))


def _script(name: str) -> Markup:
    return tag("script", src=_address(name))


def _links(place: str) -> Markup:
    links = (
        tag("a", text(title), href=path, aria_current="page" if path == place else None)
        for path, title in PLACES.items()
    )
    return tag("nav", tag("b", text("restow")), *links, class_="site", aria_label="Pages")


def _address(name: str) -> str:
    """Where a file is; another content has another address, so browsers may keep it."""
    return f"/static/{name.rpartition('/')[2]}?{sha256(files()[name.rpartition('/')[2]].content).hexdigest()[:12]}"


class StaticFile:
    """A file that pages load."""

    def __init__(self, name: str) -> None:
        self.content = resources.files(__package__).joinpath(name).read_bytes()
        self.content_type = _TYPES[name.rpartition(".")[2]]


@cache
def files() -> Mapping[str, StaticFile]:
    """The files that pages load, by name."""
    return {name.rpartition("/")[2]: StaticFile(name) for name in (*_STYLES, *_SCRIPTS, PLAN_SCRIPT)}
