from __future__ import annotations

from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from restow.reporting.html.elements import joined, tag, text


def test_text_is_escaped() -> None:
    assert text("<b>&'\"") == "&lt;b&gt;&amp;&#x27;&quot;"


def test_attributes_are_escaped() -> None:
    assert tag("p", title='"><script>') == '<p title="&quot;&gt;&lt;script&gt;"></p>'


def test_an_attribute_of_none_is_left_out_and_an_empty_one_is_bare() -> None:
    assert tag("p", class_=None, hidden="", data_row=1) == '<p hidden data-row="1"></p>'


def test_elements_without_content_have_no_end() -> None:
    assert tag("meta", name="viewport") == '<meta name="viewport">'


def test_separators_are_text() -> None:
    assert joined([text("a"), text("b")], " < ") == "a &lt; b"


@given(st.text())
def test_no_text_opens_an_element_or_leaves_an_attribute(value: str) -> None:
    assert not set(text(value)) & set("<>\"'")
    if value.isprintable():
        assert unescape(text(value)) == value
