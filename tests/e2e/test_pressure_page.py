"""The page of `restow pressure` in a real browser: on a phone, on a desk, light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders.pressure_views import a_view
from e2e.browser import a_page, browser
from restow.reporting.html.pressure import render_pressure

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio]

#: Elements that stick out of the page, or of the card that they are in.
_STICKING_OUT = """[...document.querySelectorAll("li :not(svg *)")].filter(each => {
  const inner = each.getBoundingClientRect(), outer = each.closest("li").getBoundingClientRect();
  return inner.right > outer.right + 0.5 || inner.left < outer.left - 0.5;
}).length"""
_HEIGHTS = '[...document.querySelectorAll("svg")].map(each => each.getBoundingClientRect().height)'


@pytest.fixture
def page_file(tmp_path: Path) -> str:
    try:
        browser()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    names = a_view(30, pressed=3, trouble="Prometheus has not answered for 42 s: connection refused")
    file = tmp_path / "page.html"
    file.write_text(render_pressure(names).replace("node-0001", f"ip-10-0-0-1.{'very-long' * 8}.compute.internal"))
    return file.as_uri()


async def test_it_fits_every_screen_and_shows_its_lines_in_both_schemes(page_file: str) -> None:
    async with a_page() as page:
        colours = set()
        for width, dark in ((320, False), (400, False), (400, True), (1200, False), (1200, True)):
            await page.open(page_file, width, dark=dark)
            assert await page.fits(f"pressure-{width}-{'dark' if dark else 'light'}"), width
            assert await page.evaluate(_STICKING_OUT) == 0, width
            assert min(await page.evaluate(_HEIGHTS)) > 20
            colours.add(await page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert len(colours) == 2
        assert await page.evaluate("document.title") == "3 of 30 nodes under pressure"
        assert await page.evaluate("document.querySelectorAll('.pressed').length") == 3
        assert await page.evaluate("performance.getEntriesByType('resource').length") == 0
