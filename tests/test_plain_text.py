"""What does not print is shown, not obeyed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.hostile import HALF, OBEYED, is_harmless
from restow.plain_text import printable, printable_json, some


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("shop/web-1", "shop/web-1"),
        ("größe …", "größe …"),
        ("two\nlines\tand a tab", "two lines and a tab"),
        ("\x1b[31mred", "\ufffd[31mred"),
        ("a\u202eb\x00c", "a\ufffdb\ufffdc"),
        ("a\u2028b\x85c\xa0d", "a b c d"),
        ("\x9b31m\x7f", "\ufffd31m\ufffd"),
        (f"half {HALF}", "half \ufffd"),
    ],
    ids=["plain", "unicode", "white space", "terminal escape", "bidi and null", "separators", "C1, DEL", "surrogate"],
)
def test_nothing_invisible_reaches_a_terminal(text: str, expected: str) -> None:
    assert printable(text) == expected


@given(st.text(st.characters()))
def test_any_text_becomes_one_line_that_prints(text: str) -> None:
    assert printable(text).isprintable()
    assert len(printable(text)) == len(text)


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_json_document_stays_the_same_document(value: object) -> None:
    shown = printable_json(json.dumps(value, ensure_ascii=False))
    assert shown.isprintable()
    assert json.loads(shown) == value


def test_a_json_document_says_the_same_without_characters_that_do_not_print() -> None:
    value = {"name": f"größe 日本 {OBEYED}{HALF}\U000e0001", "list": ["\x7f"]}

    shown = printable_json(json.dumps(value, ensure_ascii=False, indent=1))

    assert is_harmless(shown)
    assert "größe 日本" in shown
    assert json.loads(shown) == value


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a"], "a"),
        (["a", "b\n"], "a, b "),
        (["a", "b", "c"], "a, b and 1 more"),
        (["a"] * 2002, "a, a and 2,000 more"),
    ],
    ids=["one", "as many", "one more", "many more"],
)
def test_of_many_names_the_first_are_told_and_the_others_counted(names: list[str], expected: str) -> None:
    assert some(names, 2) == expected
