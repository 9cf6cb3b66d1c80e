"""Who may ask for pages: all who reach this machine's own address, and no page of another site.

A browser sends requests to this machine also for pages of others. Those name another origin, or, where a name of theirs
was made to mean this machine, another host: both are refused. Pages are not to be framed, kept or read by others either.
Source: DNS rebinding, and the headers Origin and Sec-Fetch-Site (fetch.spec.whatwg.org).
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from restow.client.proxies import is_loopback
from restow.reporting.html.site import CONTENT_SECURITY_POLICY
from restow.serving.pages import plain_text

#: Sent with every answer.
HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        # With none at all, a browser would not say which page posts a form.
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
)
_SAME_SITE: Final = ("same-origin", "none")


def own_site_only() -> Middleware:
    """Return a middleware that refuses what pages of others ask for."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        problem = _foreign(request)
        if problem:
            return plain_text(f"{problem}\n", HTTPStatus.FORBIDDEN)
        return await handler(request)

    return guard


def _foreign(request: web.Request) -> str:
    """Why a request is not one of our own pages; empty for one that is."""
    host = urlsplit(f"//{request.host}").hostname or ""
    if not is_loopback(host):
        return f"this page is served as 127.0.0.1 and localhost, not as {host!r}"
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc != request.host:
        return "pages of other sites are not answered"
    if request.method == "POST" and request.headers.get("Sec-Fetch-Site", "none") not in _SAME_SITE:
        return "pages of other sites are not answered"
    return ""


async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Add the headers that go with every answer."""
    response.headers.update(HEADERS)
