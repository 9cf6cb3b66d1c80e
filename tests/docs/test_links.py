"""Every relative link of the documentation leads somewhere, and every page can be reached from the README."""

from __future__ import annotations

import re

import pytest

from docs.pages import ROOT, name_of, pages, prose

PAGES = pages()
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def links(page):
    """The targets of a page's links within the project: path and anchor."""
    for target in _LINK.findall(prose(page.read_text(encoding="utf-8"))):
        if "://" not in target and not target.startswith("mailto:"):
            path, _, anchor = target.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = (
        heading.lower().replace("`", "") for heading in _HEADING.findall(prose(page.read_text(encoding="utf-8")))
    )
    return {re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_resolves(page):
    for target, anchor in links(page):
        assert target.exists(), f"{target} does not exist"
        assert not anchor or anchor in anchors(target), f"{name_of(target)} has no #{anchor}"


def test_every_page_can_be_reached_from_the_readme():
    reached, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            ahead += [target for target, _ in links(page)]
    assert {name_of(page) for page in PAGES} <= {name_of(page) for page in reached}
