"""The pages: health under the paths of Kubernetes' own programs, metrics, and the API server's webhook requests.

``/healthz`` is constant, like the Descheduler's: it says that the process answers. ``/livez`` says whether the process
should be restarted, ``/readyz`` whether a cycle could run now. Texts are those of Kubernetes' health checks.

A guard authorizes requests by bearer token, as its policy says; open paths need no token: the kubelet requests them.
Source: WithAlwaysAllowPaths, apiserver v0.36.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler as AnyHandler
from aiohttp.typedefs import Middleware

from restow.serving.exposition import CONTENT_TYPE
from restow.serving.health import Health

#: Answers a GET.
Handler = Callable[[web.Request], web.Response]
#: Answers the body of a request with that of the response, both JSON.
Reviewer = Callable[[bytes], bytes]
#: The HTTP status for a token and a path; OK grants access.
Review = Callable[[str, str], Awaitable[HTTPStatus]]

#: Bytes of a question: etcd takes no object of more than 1.5 MiB.
_LONGEST: Final = 2 << 20
#: How many webhook requests are read at a time, and the seconds for each: any client in the cluster may send some.
_READ_TOGETHER: Final = 10
_SECONDS_TO_READ: Final = 1.0
#: How many tokens are reviewed at a time: any client may send any token.
_AT_A_TIME: Final = 10
_LONGEST_TOKEN: Final = 16_384
_WORDS: Final = {
    HTTPStatus.UNAUTHORIZED: "Unauthorized",
    HTTPStatus.FORBIDDEN: "this token gives no right to get this path",
    HTTPStatus.SERVICE_UNAVAILABLE: "the API server does not say whether this is allowed",
}


def pages(
    health: Health, metrics: Callable[[], str] | None, webhooks: Mapping[str, Reviewer] = MappingProxyType({})
) -> web.Application:
    """Return the application; without metrics there is no such page. Webhooks have a path each."""
    application = web.Application(middlewares=[_plain_errors], client_max_size=_LONGEST)
    application.on_response_prepare.append(_no_server_name)
    add_page(application, "/healthz", lambda request: _passed(request, "healthz", health.program))
    add_page(application, f"/healthz/{health.program}", lambda _: plain_text("ok"))
    for path in ("/livez", f"/livez/{health.program}"):
        add_page(application, path, lambda request: _alive(request, health))
    add_page(application, "/readyz", lambda request: _ready(request, health))
    if metrics is not None:
        add_page(application, "/metrics", lambda _: _metrics(metrics()))
    for path, reviewer in webhooks.items():
        application.router.add_post(path, _asked(reviewer))
    return application


def add_page(application: web.Application, path: str, handler: Handler) -> None:
    """Serve a page at a path."""

    async def handle(request: web.Request) -> web.Response:
        return handler(request)

    application.router.add_get(path, handle)


def _asked(reviewer: Reviewer) -> Callable[[web.Request], Awaitable[web.Response]]:
    turns = asyncio.Semaphore(_READ_TOGETHER)

    async def handle(request: web.Request) -> web.Response:
        try:
            async with asyncio.timeout(_SECONDS_TO_READ), turns:
                question = await request.read()
        except TimeoutError:
            raise web.HTTPRequestTimeout from None
        return web.Response(body=reviewer(question), content_type="application/json")

    return handle


def _alive(request: web.Request, health: Health) -> web.Response:
    stuck = health.watchdog.stuck()
    if stuck:
        return _failed("livez", health.program, f"stuck: {stuck}")
    return _passed(request, "livez", health.program)


def _ready(request: web.Request, health: Health) -> web.Response:
    waiting_for = health.waiting_for
    if waiting_for:
        return _failed("readyz", health.program, f"not ready: {waiting_for}")
    return _passed(request, "readyz", health.program)


def _passed(request: web.Request, name: str, program: str) -> web.Response:
    return plain_text(f"[+]{program} ok\n{name} check passed\n" if "verbose" in request.query else "ok")


def _failed(name: str, program: str, why: str) -> web.Response:
    return plain_text(f"[-]{program} {why}\n{name} check failed\n", HTTPStatus.SERVICE_UNAVAILABLE)


def _metrics(text: str) -> web.Response:
    response = web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})
    response.enable_compression()
    return response


def plain_text(text: str, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    """Return a page of plain text."""
    return web.Response(text=text, status=status, headers={"X-Content-Type-Options": "nosniff"})


@web.middleware
async def _plain_errors(request: web.Request, handler: Callable[[web.Request], object]) -> web.StreamResponse:
    try:
        return await handler(request)  # type: ignore[misc, no-any-return]  # aiohttp's own type is of its old protocol
    except web.HTTPNotFound:
        return plain_text("404 page not found\n", HTTPStatus.NOT_FOUND)


async def _no_server_name(_request: web.Request, response: web.StreamResponse) -> None:
    """Do not reveal the server's software."""
    response.headers.pop("Server", None)


def guarded(open_paths: Sequence[str], review: Review) -> Middleware:
    """Return a middleware that admits authorized requests; an open path may end with ``/*`` to include everything below it."""
    turns = asyncio.Semaphore(_AT_A_TIME)

    @web.middleware
    async def guard(request: web.Request, handler: AnyHandler) -> web.StreamResponse:
        if not is_open(request.path, open_paths):
            async with turns:
                verdict = await _verdict(request, review)
            if verdict is not HTTPStatus.OK:
                return plain_text(f"{_WORDS[verdict]}\n", verdict)
        return await handler(request)

    return guard


def is_open(path: str, open_paths: Sequence[str]) -> bool:
    """Whether a path needs no token."""
    return any(path.startswith(each[:-1]) if each.endswith("/*") else path == each for each in open_paths)


async def _verdict(request: web.Request, review: Review) -> HTTPStatus:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or len(token) > _LONGEST_TOKEN:
        return HTTPStatus.UNAUTHORIZED
    return await review(token, request.path)
