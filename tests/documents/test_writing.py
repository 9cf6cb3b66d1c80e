"""Written policies read back the same, by our reader and by PyYAML's."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from restow.documents.document import DocumentKind, read_document
from restow.documents.yaml_text import write_yaml

KIND = DocumentKind("a file", "a key")
WORDS = st.sampled_from(
    ["y", "n", "on", "Off", "~", "null", "1_000", "0o7", "017", "0x1F", "1e3", "2001-01-01", "<<", "="]
)
TEXT = WORDS | st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12)
SCALARS = TEXT | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.none() | st.sampled_from([2.5, 20.25, 1e-3])
DOCUMENTS = st.dictionaries(
    TEXT, st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))
)


@settings(max_examples=150)
@given(document=DOCUMENTS)
def test_what_is_written_is_read_back(document):
    text = write_yaml(document)
    if document:
        assert read_document(b"---\n" + text.encode(), "p.yaml", KIND).data == document


@pytest.mark.parametrize("word", ["y", "yes", "1_000", "0o7", "null", "2001-01-01", "5"])
def test_words_that_mean_something_to_either_reader_are_quoted(word):
    text = write_yaml({"a": word})
    assert yaml.safe_load(text) == {"a": word}
    assert text != f"a: {word}\n"


def test_keys_keep_their_order_and_nothing_is_an_alias():
    shared = {"b": 1}
    assert write_yaml({"z": shared, "a": shared}) == "z:\n  b: 1\na:\n  b: 1\n"


@settings(max_examples=150)
@given(text=st.text(st.sampled_from("\n\r\t a:#-|>\x85\u2028\x00\x1b'\""), max_size=8))
def test_several_lines_are_read_back_whatever_they_are_made_of(text):
    document = {"a": {"b": [text]}, "c": text}
    assert read_document(write_yaml(document).encode(), "p.yaml", KIND).data == document


def test_a_file_inside_a_document_stays_readable():
    assert write_yaml({"data": {"policy.yaml": "a: 1\nb: 2\n"}}) == "data:\n  policy.yaml: |\n    a: 1\n    b: 2\n"


def test_marks_that_reorder_a_line_are_escaped_and_read_back():
    text = write_yaml({"a": "\u202ex", "ü": 1})
    assert text.replace("\n", "").isprintable()
    assert yaml.safe_load(text) == {"a": "\u202ex", "ü": 1}
