"""The site has every page of the project. ``make site`` builds it."""

from __future__ import annotations

import runpy

from docs.pages import ROOT, name_of, pages

#: Vendored files are no documentation.
_VENDORED = "src/"


def test_each_page_has_a_place_in_the_menu():
    sections = runpy.run_path(str(ROOT / "docs/site/conf.py"))["SECTIONS"]
    shown = {name_of(each) for patterns in sections.values() for pattern in patterns for each in ROOT.glob(pattern)}
    assert {name_of(page) for page in pages()} <= {*shown, "README.md"}
    assert not [page for page in shown if page.startswith(_VENDORED)]
