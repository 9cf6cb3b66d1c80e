"""What the page shows of a daemon at one moment, and the page's address."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from aiohttp import web

from restow.pressure.situation import Criteria, History, Situation
from restow.serving.health import Health
from restow.serving.pages import add_page, pages, plain_text

#: The page loads nothing, and must not be framed by other pages.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"


@dataclass(slots=True, frozen=True)
class PressureView:
    """What the pages show at one moment."""

    criteria: Criteria
    #: None before the first round, and in a process that waits for the lease.
    situation: Situation | None
    history: History
    #: The nodes that bear the label, by name.
    labelled: tuple[str, ...]
    #: What is wrong; empty if nothing is.
    trouble: str
    #: Whether this process may write.
    leads: bool
    dry_run: bool
    #: Nanoseconds since the epoch.
    now: int
    #: Seconds.
    interval: float


#: Makes a page of HTML.
Renderer = Callable[[PressureView], str]


def application(
    health: Health, metrics: Callable[[], str], view: Callable[[], PressureView], render: Renderer
) -> web.Application:
    """Return the application; ``view`` gives what there is to show now."""
    made = pages(health, metrics)
    add_page(made, "/status", lambda _: _status(view()))
    add_page(made, "/nodes", lambda _: _nodes(view()))
    add_page(made, "/", lambda _: _page(render(view())))
    return made


def _status(view: PressureView) -> web.Response:
    if view.trouble:
        return plain_text(f"{view.trouble}\n", HTTPStatus.SERVICE_UNAVAILABLE)
    return plain_text("ok")


def _nodes(view: PressureView) -> web.Response:
    body = {"type": view.criteria.mark.value, "num": len(view.labelled), "node_names": list(view.labelled)}
    return web.Response(text=json.dumps(body), content_type="application/json")


def _page(html: str) -> web.Response:
    headers = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return web.Response(text=html, content_type="text/html", headers=headers)
