"""What is said of ``make test`` is what it does."""

from __future__ import annotations

import re
import tomllib

import pytest

from docs.pages import ROOT, text_of

#: Those of a verb of their own; the tests of ``script`` are left out only where they ran with another Python.
MARKERS = {
    marker.partition(":")[0]
    for marker in tomllib.loads(text_of("pyproject.toml"))["tool"]["pytest"]["ini_options"]["markers"]
} - {"script"}


def test_it_leaves_out_the_tests_with_a_marker_each_of_which_has_a_verb():
    makefile = text_of("Makefile")
    (left_out,) = re.findall(r'pytest .*-m "(not .+)"', makefile)
    assert set(re.findall(r"not (\w+)", left_out)) == MARKERS
    assert set(re.findall(r"^(\w+):", makefile, re.MULTILINE)) >= MARKERS


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "Makefile"])
def test_who_tells_of_it_names_what_it_leaves_out(page):
    (told,) = re.findall(r"all tests but those of ([^;\n]*)", (ROOT / page).read_text(), re.IGNORECASE)
    assert set(re.findall(r"\b(oracle|e2e|bench|fuzz)\b", told.partition("(markers")[0])) == MARKERS
