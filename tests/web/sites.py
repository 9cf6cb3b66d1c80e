"""The pages of a dump on a port of this machine, asked as a browser asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from restow.application.clusters import ClusterSource
from restow.application.planning import PlanRequest
from restow.web.server import SiteSettings, serve

DEMO = Path(__file__).parents[2] / "examples" / "clusters" / "demo.json"


@dataclass(frozen=True, slots=True)
class Asked:
    """One answer."""

    status: int
    headers: Any
    text: str


@dataclass(slots=True)
class Browser:
    """Asks one site."""

    session: aiohttp.ClientSession
    base: str
    said: list[str]

    async def get(self, path: str, **options: Any) -> Asked:
        async with self.session.get(self.base + path, **options) as answer:
            return Asked(answer.status, answer.headers, await answer.text())

    async def post(self, path: str, **options: Any) -> Asked:
        async with self.session.post(self.base + path, **options) as answer:
            return Asked(answer.status, answer.headers, await answer.text())


@asynccontextmanager
async def a_site(file: Path = DEMO, history: str | None = None, policy: str | None = None) -> AsyncIterator[Browser]:
    """The site of a dump, once it has its plan."""
    said: list[str] = []
    stopping, listening = asyncio.Event(), asyncio.Event()

    def tell(sentence: str) -> None:
        said.append(sentence)
        listening.set()

    request = PlanRequest(ClusterSource((str(file),)), policy)
    running = asyncio.ensure_future(serve(SiteSettings(request, port=0, history=history), stopping, tell))
    waiting = asyncio.ensure_future(listening.wait())
    await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if running.done():
        await running
    async with aiohttp.ClientSession() as session:
        browser = Browser(session, said[0].split(" ")[0].rstrip("/"), said)
        async with session.get(browser.base + "/events?of=plan") as news:
            while not (told := await news.content.readuntil(b"\n\n")).startswith(b"event: plan"):
                if not told:
                    await running
        yield browser
    stopping.set()
    await running
