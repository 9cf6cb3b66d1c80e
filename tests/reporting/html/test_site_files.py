"""The files that the pages of ``restow serve`` load: those of others are as published, and small."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import restow
from restow.reporting.html.site import PLACES, files, site_page

VENDOR = Path(restow.__file__).parent / "reporting" / "html" / "vendor"
_ROW = re.compile(
    r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \| `pkg:npm/[\w.]+@[\d.]+` \| `([0-9a-f]{64})` \|$", re.MULTILINE
)


def test_files_of_others_have_the_checksums_that_are_written_down() -> None:
    rows = {name: digest for name, _, _, digest in _ROW.findall((VENDOR / "README.md").read_text())}
    assert rows == {
        each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in VENDOR.iterdir() if each.suffix != ".md"
    }


def test_their_licences_are_there() -> None:
    told = (VENDOR / "README.md").read_text()
    assert "Permission to use, copy, modify, and/or distribute this software" in told
    assert "Copyright (c) 2022 Leon Sorokin" in told


def test_they_are_about_a_hundred_kilobytes() -> None:
    assert sum(each.stat().st_size for each in VENDOR.iterdir() if each.suffix != ".md") < 110_000


def test_a_page_names_where_it_is_and_loads_files_by_their_content() -> None:
    for place, title in PLACES.items():
        page = site_page(place, title, ())
        assert re.findall(r'<a href="([^"]+)" aria-current="page">', page) == [place]
    assert set(re.findall(r"/static/([\w.-]+)\?[0-9a-f]{12}", page)) == files().keys() - {"script.js"}
