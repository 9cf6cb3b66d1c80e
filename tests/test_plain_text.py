"""What does not print is shown, not obeyed; passwords do not come out, whatever they are made of."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.hostile import HALF, OBEYED, is_harmless
from restow.plain_text import printable, printable_json, public_line, some, without_password, without_secrets


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


@pytest.mark.parametrize(
    "url",
    [
        "http://me:hunter2@proxy:3128",
        "http://me:hunter2@hunter2@proxy:3128",
        "http://me:hunter2/hunter2@proxy:3128",
        "http://:hunter2@proxy:3128",
        "https://hunter2@proxy",
        "https://me:%00hunter2@proxy/path?query",
    ],
)
@pytest.mark.parametrize("sentence", ["{}", "cannot reach {} (file, context a@b)", "url='{}'"])
def test_the_password_of_a_url_in_a_sentence(url: str, sentence: str) -> None:
    told = without_secrets(sentence.format(url))
    assert "hunter2" not in told
    assert "://[hidden]@proxy" in told


@pytest.mark.parametrize("sentence", ["https://api:6443 (config, context me@cluster)", "https://api/path me@cluster"])
def test_a_sentence_without_a_password_stays(sentence: str) -> None:
    assert without_secrets(sentence) == sentence


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://me:hunter2@proxy:3128", "http://[hidden]@proxy:3128"),
        ("http://me:hunter 2 @ 2@proxy", "http://[hidden]@proxy"),
        ("me:hunter2@proxy:3128", "[hidden]@proxy:3128"),
        ("http://proxy:3128", "http://proxy:3128"),
        ("proxy", "proxy"),
    ],
)
def test_a_url_however_broken(url: str, expected: str) -> None:
    assert without_password(url) == expected


@pytest.mark.parametrize(
    "piece", ["://:", "://x", "eyJaaaaaaaa-", "eyJaaaaaaaa.", "bearer ", "-----BEGIN ", "token=", "basic"]
)
def test_a_text_that_somebody_made_up_takes_no_hours(piece: str) -> None:
    """An annotation may hold 256 kB."""
    began = time.process_time()
    public_line(piece * (256 * 1024 // len(piece)))
    assert time.process_time() - began < 10


def test_a_line_for_everybody_is_one_line_without_secrets() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMHcCAQEEIIGb\n-----END PRIVATE KEY-----"
    assert public_line(f"two\nlines \x1b[2J {key}") == "two lines \ufffd[2J [hidden]"
