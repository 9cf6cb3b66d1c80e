"""Authorization of page requests by bearer token; the caller gives the policy.

Open paths need no token: the kubelet requests them.
Source: WithAlwaysAllowPaths, apiserver v0.36.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from restow.serving.pages import plain_text

#: The HTTP status for a token and a path; OK grants access.
Review = Callable[[str, str], Awaitable[HTTPStatus]]

#: How many tokens are reviewed at a time: any client may send any token.
_AT_A_TIME: Final = 10
_LONGEST: Final = 16_384
_WORDS: Final = {
    HTTPStatus.UNAUTHORIZED: "Unauthorized",
    HTTPStatus.FORBIDDEN: "this token gives no right to get this path",
    HTTPStatus.SERVICE_UNAVAILABLE: "the API server does not say whether this is allowed",
}


def guarded(open_paths: Sequence[str], review: Review) -> Middleware:
    """Return a middleware that admits authorized requests; an open path may end with ``/*`` to include everything below it."""
    turns = asyncio.Semaphore(_AT_A_TIME)

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
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
    if scheme.lower() != "bearer" or not token or len(token) > _LONGEST:
        return HTTPStatus.UNAUTHORIZED
    return await review(token, request.path)
