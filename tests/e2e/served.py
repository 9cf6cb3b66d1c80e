"""``restow serve`` of these sources as a process, and its pages in a browser."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import axe_core_python

from e2e.browser import Page
from e2e.child import Child
from e2e.waiting import wait_until

_COMMAND = (sys.executable, "-c", "from restow.cli.main import main; main()", "serve", "--port", "0")
_AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
#: Seconds, on busy cores.
_PATIENCE = 120.0


@contextmanager
def serving(directory: Path, *options: str) -> Iterator[str]:
    """The address of the pages, without a slash at the end."""
    child = Child([*_COMMAND, *options], directory / "serve.log")
    child.start()
    try:

        def said() -> str:
            child.check()
            found = re.search(r"(http://\S+)/ shows the cluster", child.log.read_text())
            return found[1] if found else ""

        yield wait_until("restow serve says where it is", said, _PATIENCE)
    finally:
        child.terminate()


async def violations(page: Page) -> list[str]:
    """The rules of WCAG 2.1 A and AA that the page breaks, with the first element that does."""
    await page.evaluate(_AXE + "; 0")
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
    run = f"axe.run(document, {{runOnly: {tags}}}).then(found => found.violations.map(e => `${{e.id}}: ${{e.nodes[0].html}}`))"
    answer = await page.call("Runtime.evaluate", expression=run, awaitPromise=True, returnByValue=True)
    return list(answer["result"]["value"])
