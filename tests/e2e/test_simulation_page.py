"""The page of `restow simulate` in a real browser: on a phone, on a desk, light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from builders.simulations import a_long_result
from e2e.browser import a_page, browser
from restow.reporting.html.simulation import render_simulation

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio]

#: Texts of charts that are not wholly in the window.
_CUT_OFF = """[...document.querySelectorAll("svg text")].filter(each => {
  const place = each.getBoundingClientRect();
  return place.left < -0.5 || place.right > document.documentElement.clientWidth + 0.5;
}).length"""


@pytest.fixture
def page_file(tmp_path: Path) -> str:
    try:
        browser()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    result = a_long_result(500)
    named = tuple(structs.replace(each, workload=f"deployment/shop/{'very-long' * 9}") for each in result.workloads)
    file = tmp_path / "page.html"
    file.write_text(render_simulation(structs.replace(result, workloads=named)))
    return file.as_uri()


async def test_it_fits_every_screen_in_both_schemes(page_file: str) -> None:
    async with a_page() as page:
        colours = set()
        for width, dark in ((320, False), (400, True), (1200, False), (1200, True)):
            await page.open(page_file, width, dark=dark)
            assert await page.fits(f"simulation-{width}-{'dark' if dark else 'light'}"), width
            assert await page.evaluate(_CUT_OFF) == 0, width
            colours.add(await page.evaluate("getComputedStyle(document.querySelector('rect.returned')).fill"))
        assert len(colours) == 2
        assert await page.evaluate("performance.getEntriesByType('resource').length") == 0
