"""The pages: health under the paths of Kubernetes' own programs, and metrics.

``/healthz`` is a constant, as the Descheduler's: it says that the process answers. ``/livez`` is the same; ``/readyz``
says whether a cycle could be done now. Texts are those of Kubernetes' health checks.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from aiohttp import web

from restow.serving.exposition import CONTENT_TYPE
from restow.serving.health import Health

_CHECK: Final = "Descheduler"
_Handler = Callable[[web.Request], web.Response]


def pages(health: Health, metrics: Callable[[], str] | None) -> web.Application:
    """Return the application; without metrics there is no such page."""
    application = web.Application(middlewares=[_plain_errors])
    application.on_response_prepare.append(_no_server_name)
    for path in ("/healthz", "/livez"):
        _answer(application, path, _alive(path.strip("/")))
        _answer(application, f"{path}/{_CHECK}", lambda _: _text("ok"))
    _answer(application, "/readyz", lambda request: _ready(request, health))
    if metrics is not None:
        _answer(application, "/metrics", lambda _: _metrics(metrics()))
    return application


def _answer(application: web.Application, path: str, handler: _Handler) -> None:
    async def handle(request: web.Request) -> web.Response:
        return handler(request)

    application.router.add_get(path, handle)


def _alive(name: str) -> _Handler:
    return lambda request: _text(f"[+]{_CHECK} ok\n{name} check passed\n" if "verbose" in request.query else "ok")


def _ready(request: web.Request, health: Health) -> web.Response:
    if health.waiting_for:
        page = f"[-]{_CHECK} not ready: {health.waiting_for}\nreadyz check failed\n"
        return _text(page, HTTPStatus.SERVICE_UNAVAILABLE)
    return _alive("readyz")(request)


def _metrics(text: str) -> web.Response:
    response = web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})
    response.enable_compression()
    return response


def _text(text: str, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    return web.Response(text=text, status=status, headers={"X-Content-Type-Options": "nosniff"})


@web.middleware
async def _plain_errors(request: web.Request, handler: Callable[[web.Request], object]) -> web.StreamResponse:
    try:
        return await handler(request)  # type: ignore[misc, no-any-return]  # aiohttp's own type is of its old protocol
    except web.HTTPNotFound:
        return _text("404 page not found\n", HTTPStatus.NOT_FOUND)


async def _no_server_name(_request: web.Request, response: web.StreamResponse) -> None:
    """Nobody has to know of what the server is made."""
    response.headers.pop("Server", None)
