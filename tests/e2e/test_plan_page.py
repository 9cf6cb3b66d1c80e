"""The page of ``restow plan`` in a real browser: on a phone, on a desk, light and dark, and what its script adds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from builders.plans import large_report, small_report
from e2e.browser import Page
from restow.reporting.forms import Report
from restow.reporting.html.page import render_html

pytestmark = [pytest.mark.e2e, pytest.mark.asyncio]

#: Counts the pieces of moved pods that are shown on bars.
_SHOWN = (
    "[...document.querySelectorAll('[data-move]')].filter(each => getComputedStyle(each).display !== 'none').length"
)


def written(report: Report, directory: Path) -> str:
    file = directory / "page.html"
    file.write_text(render_html(report), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize("nodes", [36, 300, 5000])
async def test_it_fits_every_screen_in_both_schemes(nodes: int, tab: Page, tmp_path: Path) -> None:
    url = written(large_report(nodes=nodes, moves=4 * nodes, refusals=200), tmp_path)
    for width, dark in ((360, False), (360, True), (1200, False), (1200, True)):
        await tab.open(url, width, dark=dark)
        assert await tab.fits(f"plan-{nodes}-{width}-{'dark' if dark else 'light'}"), width
    assert await tab.evaluate("performance.getEntriesByType('resource').length") == 0


async def test_the_slider_makes_the_moves(tab: Page, tmp_path: Path) -> None:
    """Two pieces a move and resource: before, those on the old nodes are shown, and after, those on the new ones."""
    await tab.open(written(small_report(), tmp_path), 1200)
    assert await tab.evaluate(_SHOWN) == 3 * 2
    for made in (0, 2, 3):
        await tab.evaluate(f"made.value = {made}; made.dispatchEvent(new Event('input'))")
        shown = await tab.evaluate(
            "[...document.querySelectorAll('[data-move].comes')].filter(each => each.style.display === 'inline').length"
        )
        assert shown == 2 * made
        assert await tab.evaluate(_SHOWN) == 3 * 2


async def test_a_step_draws_the_route_of_a_move(tab: Page, tmp_path: Path) -> None:
    await tab.open(written(small_report(), tmp_path), 1200)
    await tab.evaluate("document.getElementById('next-move').click()")
    assert "1 of 3: shop/web" in await tab.evaluate("document.getElementById('shown-move').textContent")
    assert await tab.evaluate("document.querySelectorAll('.routes path').length") == 2
    assert await tab.evaluate("document.querySelectorAll('.skyline .source').length") == 1


async def test_the_filter_searches_all_moves_and_pages_go_on(tab: Page, tmp_path: Path) -> None:
    await tab.open(written(large_report(nodes=36, moves=900, refusals=0), tmp_path), 1200)
    assert await tab.evaluate("document.querySelector('.more').textContent") == "Show 100 more of 300"
    await tab.evaluate("document.querySelector('.more').click()")
    assert await tab.evaluate("document.querySelector('table.moves').tBodies[0].rows.length") == 300
    search = "const field = document.getElementById('move-filter'); field.value = '{}'; field.dispatchEvent(new Event('input'))"
    await tab.evaluate(f"{{ {search.format('-00899')} }}")
    assert await tab.evaluate("document.getElementById('move-count').textContent") == "1 of 900"
    assert await tab.evaluate("document.querySelectorAll('.fold[open]').length") == 1


@pytest.mark.parametrize("nodes", [36, 300])
async def test_on_paper_it_is_a_summary(nodes: int, tab: Page, tmp_path: Path) -> None:
    """A thousand moves and refusals are no hundred pages."""
    await tab.open(written(large_report(nodes=nodes, moves=1000, refusals=1000), tmp_path), 1200)
    printed = await tab.printed(f"plan-{nodes}")
    assert 1 <= len(re.findall(rb"/Type\s*/Page[^s]", printed)) <= 3
