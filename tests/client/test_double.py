"""The double says things as the real API server does: the same shapes for the same questions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from client.double import Answer, a_double, a_list, a_status, an_api, an_event
from e2e.control_plane import ControlPlane
from e2e.workloads import deployment, wait_for_ready
from restow.client.connection import connect
from restow.client.errors import ApiError
from restow.client.transport import Api, Call

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio]

ABSENT = "/api/v1/namespaces/default/pods/absent"


@pytest_asyncio.fixture
async def both(plane: ControlPlane) -> AsyncIterator[tuple[Api, Api]]:
    """A client of the real one and a client of the double, which knows a page of pods, a stream and a refusal."""
    async with a_double() as double, an_api(double.url) as played, connect(str(plane.kubeconfig), qps=-1) as real:
        double.answers("GET", ABSENT, a_status(404, "NotFound", 'pods "absent" not found'))
        double.answers("GET", "/api/v1/pods", a_list("a", proceed="more"))
        double.answers("GET", "/api/v1/watched", Answer((an_event("ADDED", "a", "1"),)))
        yield real, played


async def refused(api: Api) -> ApiError:
    with pytest.raises(ApiError) as error:
        await api.send(Call("GET", ABSENT))
    return error.value


async def test_refusals(both: tuple[Api, Api]) -> None:
    real, played = [await refused(api) for api in both]

    assert (type(real), real.status, real.reason, real.message) == (
        type(played),
        played.status,
        played.reason,
        played.message,
    )


async def test_lists_and_streams(plane: ControlPlane, namespace: str, both: tuple[Api, Api]) -> None:
    plane.admin.create(deployment("web", 2, namespace=namespace))
    wait_for_ready(plane.admin, "web", 2, namespace)
    real, played = both

    pages = [json.loads(await api.send(Call("GET", "/api/v1/pods", {"limit": "1"}))) for api in both]
    assert _shape(pages[1]) <= _shape(pages[0])
    lines = [
        await _first_line(real, "/api/v1/pods", {"watch": "1", "resourceVersion": "0"}),
        await _first_line(played, "/api/v1/watched", {}),
    ]
    assert _shape(json.loads(lines[1])) <= _shape(json.loads(lines[0]))


def _shape(value: Any, at: str = "") -> set[str]:
    """The paths of all members, the items of a list being alike."""
    if isinstance(value, dict):
        return {at}.union(*(_shape(member, f"{at}.{name}") for name, member in value.items()))
    if isinstance(value, list):
        return {at}.union(*(_shape(item, f"{at}[]") for item in value))
    return {f"{at}: {type(value).__name__}"}


async def _first_line(api: Api, path: str, params: dict[str, str]) -> bytes:
    seen = b""
    async with asyncio.timeout(10), api.stream(path, params, 10) as pieces:
        async for piece in pieces:
            seen += piece
            if b"\n" in seen:
                break
    return seen.partition(b"\n")[0]
