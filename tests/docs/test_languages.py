"""Pages that there are in English and in Chinese say the same as far as a program can see it.

They have the same headings, examples with their outputs, excerpts of files, code, numbers in tables, and links; a link to
a page that has a translation leads to the one of the same language.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from docs.pages import ROOT, blocks, code_spans, name_of, prose
from docs.test_links import links

COURSE = ROOT / "docs" / "tutorials" / "scheduling"
#: By the English page.
TRANSLATED = {ROOT / "README.md": ROOT / "README.zh-CN.md"} | {
    page: COURSE / "zh" / page.name for page in sorted(COURSE.glob("*.md"))
}
ENGLISH = {chinese: english for english, chinese in TRANSLATED.items()}
_BOTH = pytest.mark.parametrize(("english", "chinese"), TRANSLATED.items(), ids=name_of)


def text_of(page):
    return page.read_text(encoding="utf-8")


def headings(text):
    return re.findall(r"^(#+) ", prose(text), re.MULTILINE)


def targets(page):
    """Where a page leads, but to itself in the other language; anchors of translated pages are words and left out."""
    other = TRANSLATED.get(page) or ENGLISH[page]
    found = ((ENGLISH.get(target, target), anchor) for target, anchor in links(page) if target != other)
    return Counter((target, "" if target in TRANSLATED else anchor) for target, anchor in found)


def numbers(text):
    """The numbers in the tables of a text."""
    rows = [line for line in prose(text).splitlines() if line.startswith("|")]
    return [sorted(re.findall(r"\d+(?:[.,]\d+)*", row)) for row in rows]


def test_every_chapter_is_there_in_both_languages():
    assert {*TRANSLATED.values()} == {ROOT / "README.zh-CN.md", *(COURSE / "zh").glob("*.md")}


@_BOTH
def test_headings_are_as_many_and_as_deep(english, chinese):
    assert headings(text_of(english)) == headings(text_of(chinese))


@_BOTH
def test_examples_and_excerpts_are_the_same(english, chinese):
    first, second = ([(each.mark, each.text) for each in blocks(text_of(page))] for page in (english, chinese))
    assert first == second


@_BOTH
def test_code_is_the_same(english, chinese):
    indented = re.compile(r"^ {4}.+$", re.MULTILINE)
    assert indented.findall(prose(text_of(english))) == indented.findall(prose(text_of(chinese)))
    assert Counter(code_spans(text_of(english))) == Counter(code_spans(text_of(chinese)))


@_BOTH
def test_links_lead_to_the_same_places(english, chinese):
    assert targets(english) == targets(chinese)


@_BOTH
def test_each_page_links_to_its_translation_and_to_no_page_of_the_other_language_beside(english, chinese):
    assert [target for target, _ in links(english) if target in ENGLISH] == [chinese]
    assert [target for target, _ in links(chinese) if target in TRANSLATED] == [english]


@_BOTH
def test_tables_have_the_same_numbers(english, chinese):
    assert numbers(text_of(english)) == numbers(text_of(chinese))
