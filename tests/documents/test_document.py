"""Reading policy text: lines, repeated keys, merges, limits, and errors that say where."""

from __future__ import annotations

import time

import pytest

from restow.documents.document import DocumentKind, read_document
from restow.errors import InputError

KIND = DocumentKind("a rule file", "PromJob: {Name: node}")


def data_of(text):
    return read_document(text.encode(), "p.yaml", KIND).data


def error_of(text):
    with pytest.raises(InputError) as raised:
        read_document(text if isinstance(text, bytes) else text.encode(), "p.yaml", KIND)
    return str(raised.value)


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n", "null\n", "--- ~\n...\n"])
def test_an_empty_file_is_an_empty_document(text):
    assert data_of(text) == {}


def test_yaml_lines_are_those_of_the_keys():
    document = read_document(b"a: 1\nb:\n\n- k: 1\n  m: 2\n- 3\n", "p.yaml", KIND)

    assert document.lines == {("a",): 1, ("b",): 2, ("b", 0): 4, ("b", 0, "k"): 4, ("b", 0, "m"): 5, ("b", 1): 6}
    assert document.line(("b", 0, "missing", "deeper")) == 4
    assert document.line(("missing",)) == 1


def test_json_lines_are_those_of_the_keys():
    document = read_document(b'{"a": 1,\n "b":\n [{"x": 1,\n "y": true}, null]}', "p.json", KIND)

    assert document.data == {"a": 1, "b": [{"x": 1, "y": True}, None]}
    assert document.lines[("b",)] == 2
    assert document.lines[("b", 0)] == 3
    assert document.lines[("b", 0, "y")] == 4


def test_yaml_and_json_read_the_same():
    assert data_of('{"a": {"b": [1, 2.5, "x", null, false]}, "c": {}}') == data_of(
        "a:\n  b: [1, 2.5, x, ~, no]\nc: {}\n"
    )


def test_of_repeated_keys_the_last_counts_and_all_are_noted():
    document = read_document(b"a: 1\nb: {c: 1, c: 2}\na: 3\n", "p.yaml", KIND)

    assert document.data == {"a": 3, "b": {"c": 2}}
    assert document.duplicates == (("b", "c"), ("a",))
    assert document.line(("a",)) == 3


def test_keys_are_text():
    assert data_of("on: 1\n5: 2\n1.5: 3\n") == {"true": 1, "5": 2, "1.5": 3}


def test_a_merge_gives_what_is_not_written_and_is_no_repetition():
    document = read_document(b"k: &k {a: 1, b: 2}\nm:\n  <<: *k\n  b: 3\n", "p.yaml", KIND)

    assert document.data["m"] == {"a": 1, "b": 3}
    assert document.duplicates == ()


def test_of_several_merged_mappings_the_first_wins():
    assert data_of("k: &k {a: 1}\nl: &l {a: 2, b: 3}\nm: {<<: [*k, *l]}\n")["m"] == {"a": 1, "b": 3}


def test_only_the_first_document_is_read():
    """Whatever follows, it is not looked into."""
    for further in (b"", b"b: [\n", b"[" * 30_000):
        document = read_document(b"a: 1\n---\n" + further, "p.yaml", KIND)

        assert document.data == {"a": 1}
        assert document.has_more


def test_quotes_and_tags_keep_text_text():
    assert data_of('a: "5"\nb: \'yes\'\nc: !!str 5\nd: !!int "5"\n') == {"a": "5", "b": "yes", "c": "5", "d": 5}


def test_a_byte_order_mark_is_no_content():
    assert read_document(b"\xef\xbb\xbfa: 1\n", "p.yaml", KIND).data == {"a": 1}


def test_a_lone_surrogate_becomes_the_replacement_character():
    assert data_of('{"a": "\\ud800"}') == {"a": "\ufffd"}


def test_json_integers_and_floats_are_told_apart():
    """To a Go program 5.0 is no integer."""
    values = data_of('{"a": 5, "b": 5.0, "c": 1e3}')

    assert [type(value) for value in values.values()] == [int, float, float]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [", "p.yaml:2: not valid YAML: did not find expected node content", id="syntax"),
        pytest.param("a: b\n\tc: d", "p.yaml:2: not valid YAML: found a tab character", id="tab"),
        pytest.param("a: \x07", "p.yaml:1: not valid YAML: control characters are not allowed", id="control character"),
        pytest.param("x: &a [*a]", 'p.yaml:1: the value anchored as "a" contains itself', id="recursive alias"),
        pytest.param("x: *z", 'p.yaml:1: no value is anchored as "z"', id="unknown alias"),
        pytest.param("a: 1\nb: {<<: 5}", "p.yaml:2: a merge key (<<) takes a mapping", id="merge of a number"),
        pytest.param("? [a]\n: 1", "p.yaml:1: a key must be a word", id="list as key"),
        pytest.param("~: 1", "p.yaml:1: a key must be a word", id="null as key"),
        pytest.param("a: .nan", "p.yaml:1: a: must be a finite number", id="not a number"),
        pytest.param("a:\n- b: -.inf", "p.yaml:2: a[0].b: must be a finite number", id="infinite"),
        pytest.param(".nan: 1", "p.yaml:1: a key must be a word", id="key"),
        pytest.param("- a", "p.yaml:1: a list, not a rule file; start with PromJob: {Name: node}", id="list"),
        pytest.param("\n\nfoo", "p.yaml:3: a single value, not a rule file", id="scalar"),
        pytest.param(b"a: \xff", "p.yaml:1: not UTF-8 text: invalid start byte at byte 3", id="not UTF-8"),
        pytest.param(
            "[" * 100_000, "p.yaml:1: nested more than 64 levels deep; this is not a rule file", id="nested list"
        ),
        pytest.param("{", "p.yaml:1: not valid JSON: expected a string in double quotes", id="json end"),
        pytest.param(
            '{"a":\n1', 'p.yaml:2: not valid JSON: it ends where "," or "}" should be', id="json end in object"
        ),
        pytest.param('{"a": [1 2]}', 'p.yaml:1: not valid JSON: expected "," or "]", found \'2\'', id="json comma"),
        pytest.param('{"a": tru}', "p.yaml:1: not valid JSON: expected a value", id="json word"),
        pytest.param('{"a": "x}', "p.yaml:1: not valid JSON: Unterminated string", id="json string"),
        pytest.param("{} x", "p.yaml:1: not valid JSON: unexpected text after the end", id="json tail"),
        pytest.param("{a: 1}", "p.yaml:1: not valid JSON: expected a string in double quotes", id="flow YAML"),
        pytest.param(
            '{"a":' + "[" * 100_000,
            "p.yaml:1: nested more than 64 levels deep; this is not a rule file",
            id="nested json",
        ),
    ],
)
def test_what_cannot_be_read_is_one_sentence_with_the_line(text, message):
    assert error_of(text).startswith(message)
    assert "\n" not in error_of(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30)),
            id="aliases of aliases",
        ),
        pytest.param(
            f"a: &a {{{', '.join(f'k{i}: 1' for i in range(1000))}}}\nb: {{<<: [{', '.join(['*a'] * 20_000)}]}}\n",
            id="one mapping merged many times",
        ),
        pytest.param("a0: &a0 {}\n" + "".join(f"a{i}: &a{i} {{b: *a{i - 1}}}\n" for i in range(1, 3000)), id="depth"),
    ],
)
def test_a_yaml_bomb_is_refused_quickly(text):
    started = time.process_time()

    assert "excessive aliasing" in error_of(text) or "levels deep" in error_of(text)
    assert time.process_time() - started < 5
