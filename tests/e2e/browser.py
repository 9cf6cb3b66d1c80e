"""A real browser without a window, told what to do over its DevTools protocol.

async with a_page("http://127.0.0.1:9000/", width=400) as page:
    assert await page.evaluate("document.title") == "..."
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

from e2e.binaries import ROOT
from e2e.child import Child
from e2e.waiting import wait_until

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: Seconds, on busy cores.
_PATIENCE = 120.0
#: Where pictures are kept for people to look at before a release.
PICTURES = ROOT / "build/e2e/pictures"
#: Pixels of a page that a picture shows.
_LONGEST = 6000
#: The page, or a figure that its card cuts off.
_TOO_WIDE = (
    "[document.documentElement, ...document.querySelectorAll('.figures > *')]"
    ".some(each => each.scrollWidth > each.clientWidth + 1)"
)


def browser() -> str:
    """The program; FileNotFoundError where there is none."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        raise FileNotFoundError(f"no browser: none of {', '.join(_NAMES)} is installed")
    return found


class Page:
    """One tab."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        #: What the console said that is an error, and exceptions, since ``listen``.
        self.errors: list[str] = []

    async def listen(self) -> None:
        """Keep the errors of the pages from now on."""
        for domain in ("Runtime", "Log"):
            await self.call(f"{domain}.enable")

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """What a method of the protocol answers."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        async with asyncio.timeout(_PATIENCE):
            while True:
                answer = json.loads(await self._socket.receive_str())
                if answer.get("id") == number:
                    return dict(answer["result"])
                self._hear(answer)

    def _hear(self, told: dict[str, Any]) -> None:
        params = told.get("params", {})
        entry = params.get("entry", {})
        if told.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        elif entry.get("level") == "error":
            self.errors.append(f"{entry['text']} {entry.get('url', '')}")
        elif told.get("method") == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.errors.append(str(params["args"]))

    async def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript in the page."""
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def open(self, url: str, width: int, *, dark: bool = False) -> None:
        """Loads a page as a screen of that width shows it."""
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        await self.call("Emulation.setEmulatedMedia", features=scheme)
        await self.call("Page.navigate", url=url)
        async with asyncio.timeout(_PATIENCE):
            while await self.evaluate("document.readyState + location.href") != f"complete{url}":  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def fits(self, picture: str) -> bool:
        """Whether nothing is wider than the screen, or than its card; a picture of the page is kept by this name."""
        size = (await self.call("Page.getLayoutMetrics"))["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], _LONGEST), "scale": 1}
        shown = await self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        keep(f"{picture}.png", base64.b64decode(shown["data"]))
        return not await self.evaluate(_TOO_WIDE)

    async def printed(self, picture: str) -> bytes:
        """The page on paper, as PDF, which is kept by this name."""
        paper = base64.b64decode((await self.call("Page.printToPDF"))["data"])
        keep(f"{picture}.pdf", paper)
        return paper


def keep(name: str, content: bytes) -> None:
    """Put a file where people look at pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / name).write_bytes(content)


@asynccontextmanager
async def a_page() -> AsyncIterator[Page]:
    """A tab of a browser of its own."""
    # Helpers of a browser that has ended may still write for a moment.
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        profile = Path(name)
        flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0")
        child = Child([browser(), *flags, f"--user-data-dir={profile}", "about:blank"], profile / "browser.log")
        child.start()
        try:
            port = await asyncio.to_thread(_port, profile / "DevToolsActivePort", child)
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json") as response:
                    tabs = [each for each in await response.json() if each["type"] == "page"]
                async with session.ws_connect(tabs[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    yield Page(socket)
        finally:
            child.terminate()


def _port(file: Path, child: Child) -> int:
    def told() -> str:
        child.check()
        return file.read_text() if file.exists() else ""

    return int(wait_until("the browser has a port", told, _PATIENCE).split()[0])
