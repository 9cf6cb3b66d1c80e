"""Who may read which page."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from restow.serving.pages import add_page, guarded, is_open, plain_text

VERDICTS = {
    "good": HTTPStatus.OK,
    "poor": HTTPStatus.FORBIDDEN,
    "odd": HTTPStatus.UNAUTHORIZED,
    "unsure": HTTPStatus.SERVICE_UNAVAILABLE,
}


@pytest.mark.parametrize(
    ("path", "open_paths", "wanted"),
    [
        ("/healthz", ["/healthz"], True),
        ("/healthz/etcd", ["/healthz"], False),
        ("/healthz/etcd", ["/healthz/*"], True),
        ("/healthz", ["/healthz/*"], False),
        ("/metrics", ["/*"], True),
        ("/metrics", [], False),
        ("/metricsfoo", ["/metrics"], False),
    ],
)
def test_open_paths(path: str, open_paths: list[str], wanted: bool) -> None:
    assert is_open(path, open_paths) is wanted


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("path", "header", "status"),
    [
        pytest.param("/healthz", None, 200, id="open"),
        pytest.param("/metrics", None, 401, id="no token"),
        pytest.param("/metrics", "Bearer good", 200, id="may"),
        pytest.param("/metrics", "bearer  good ", 200, id="as it may be written"),
        pytest.param("/metrics", "Basic good", 401, id="no bearer"),
        pytest.param("/metrics", "Bearer ", 401, id="empty"),
        pytest.param("/metrics", "Bearer poor", 403, id="may not"),
        pytest.param("/metrics", "Bearer odd", 401, id="nobody's"),
        pytest.param("/metrics", "Bearer unsure", 503, id="nobody knows"),
        pytest.param("/metrics/../metrics", None, 401, id="another way to write it"),
        pytest.param("/healthz/../metrics", None, 401, id="by way of an open one"),
        pytest.param("/nowhere", None, 401, id="a page that is not there"),
    ],
)
async def test_pages(path: str, header: str | None, status: int) -> None:
    asked: list[tuple[str, str]] = []

    async def review(token: str, path: str) -> HTTPStatus:
        asked.append((token, path))
        return VERDICTS[token]

    application = web.Application(middlewares=[guarded(["/healthz"], review)])
    for page in ("/healthz", "/metrics"):
        add_page(application, page, lambda _: plain_text("page"))
    async with TestClient(TestServer(application)) as client:
        answer = await client.get(path, headers={} if header is None else {"Authorization": header})
        text = await answer.text()

    assert answer.status == status
    assert (text == "page") is (status == 200)
    assert "good" not in text
    assert asked in ([], [(header.split()[-1] if header else "", "/metrics")])
