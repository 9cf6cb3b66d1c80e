"""The site has every page of the project, and its packages are pinned within their ranges. ``make site`` builds it."""

from __future__ import annotations

import runpy

from packaging.requirements import Requirement

from docs.pages import ROOT, name_of, pages, text_of

#: Vendored files are no documentation.
_VENDORED = "src/"


def test_each_page_has_a_place_in_the_menu():
    sections = runpy.run_path(str(ROOT / "docs/site/conf.py"))["SECTIONS"]
    shown = {name_of(each) for patterns in sections.values() for pattern in patterns for each in ROOT.glob(pattern)}
    assert {name_of(page) for page in pages()} <= {*shown, "README.md"}
    assert not [page for page in shown if page.startswith(_VENDORED)]


def test_what_builds_it_is_pinned_within_its_range():
    pinned = dict(line.split("==") for line in text_of("docs/site/requirements.txt").splitlines())
    wanted = [Requirement(line) for line in text_of("docs/site/requirements.in").splitlines()]
    assert all(each.specifier.contains(pinned[each.name]) for each in wanted)
