"""YAML to JSON: what scalars mean, and everything that is refused."""

from __future__ import annotations

import json

import pytest

from restow.errors import InputError
from restow.sources.yaml_documents import yaml_to_json


def read(text):
    return [json.loads(document) for document in yaml_to_json(text.encode(), "dump.yaml")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", id="a-time-is-text"),
        pytest.param("2026-01-01", "2026-01-01", id="a-date-is-text"),
        pytest.param("yes", True, id="yes-is-true"),
        pytest.param('"yes"', "yes", id="quoted-yes-is-text"),
        pytest.param("|\n  5\n", "5\n", id="a-block-is-text"),
        pytest.param("!!str 5", "5", id="tagged-text"),
        pytest.param("!!int 5", 5, id="tagged-number"),
        pytest.param("! 5", "5", id="non-specific-tag"),
        pytest.param("0x10", 16, id="hexadecimal"),
        pytest.param("1_000", 1000, id="underscores"),
        pytest.param("12:30:00", "12:30:00", id="base-60-is-text"),
        pytest.param("1.5", 1.5, id="fraction"),
        pytest.param("1e400", "1e400", id="beyond-floats-is-text"),
        pytest.param("9" * 400, "9" * 400, id="beyond-integers-is-text"),
        pytest.param("~", None, id="null"),
        pytest.param("", None, id="nothing"),
        pytest.param("[a, {b: c}]", ["a", {"b": "c"}], id="flow"),
    ],
)
def test_values(text, value):
    assert read(f"a: {text}") == [{"a": value}]


def test_documents_without_content_are_left_out():
    assert read("---\n---\na: 1\n---\nnull\n---\n# only this\n") == [{"a": 1}]


def test_aliases_stand_for_their_values():
    assert read("a: &x {b: [1, 2]}\nc: *x\nd: [*x]") == [{"a": {"b": [1, 2]}, "c": {"b": [1, 2]}, "d": [{"b": [1, 2]}]}]


def test_keys_are_what_they_are_to_kubernetes():
    assert read("a: &x b\n*x : 1\non: 2\n0x10: 3") == [{"a": "b", "b": 1, "true": 2, "16": 3}]


def test_an_anchor_may_be_set_anew():
    assert read("a: &x 1\nb: *x\nc: &x 2\nd: *x") == [{"a": 1, "b": 1, "c": 2, "d": 2}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("<<: *m\nb: 2", {"a": 1, "b": 2}, id="own-keys-win"),
        pytest.param("b: 2\n<<: *m", {"a": 1, "b": 2}, id="wherever-they-are"),
        pytest.param("<<: [{a: 5}, *m]", {"a": 5, "b": 1}, id="first-one-wins"),
        pytest.param('"<<": *m', {"<<": {"a": 1, "b": 1}}, id="quoted-is-a-key"),
    ],
)
def test_merge_keys(text, value):
    indented = text.replace("\n", "\n  ")
    assert read(f"m: &m {{a: 1, b: 1}}\nv:\n  {indented}")[0]["v"] == value


def bomb(levels):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, levels)]
    return "\n".join(lines)


def chain(links, nested):
    """Each anchored value holds the one before, some levels deeper."""
    lines = ["a0: &a0 x"]
    lines += [f"a{i}: &a{i} {'[' * nested}*a{i - 1}{']' * nested}" for i in range(1, links)]
    return "\n".join(lines)


def a_long_text_many_times():
    return f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 1000)}]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: 1\nb: 2\na: 3", r':3: the key "a" is written twice', id="duplicate-key"),
        pytest.param("x:\n- {a: 1, a: 2}", r':2: the key "a" is written twice', id="duplicate-key-inside"),
        pytest.param("? [a]\n: 1", r":1: a key must be a word", id="list-as-key"),
        pytest.param("a: &x [*x]", r':1: the value anchored as "x" contains itself', id="anchor-in-itself"),
        pytest.param("a: &x {b: [*x]}", r':1: the value anchored as "x" contains itself', id="anchor-deep-in-itself"),
        pytest.param("a: *x", r':1: no value is anchored as "x"', id="unknown-anchor"),
        pytest.param("a: &x 1\n---\nb: *x", r':3: no value is anchored as "x"', id="anchor-of-another-document"),
        pytest.param("a:\n  <<: 5", r":2: a merge key \(<<\) takes a mapping", id="merge-of-a-number"),
        pytest.param("a: .nan", r":1: must be a finite number", id="NaN"),
        pytest.param("a: -.inf", r":1: must be a finite number", id="infinity"),
        pytest.param("a: [1, 2\n", r":2: not valid YAML: ", id="cut"),
        pytest.param("a: b: c", r":1: not valid YAML: ", id="nested-in-line"),
        pytest.param("a:\n\t- b", r":2: not valid YAML: ", id="tab"),
        pytest.param("a: \x01", r": not valid YAML: .* at byte 3", id="control-character"),
        pytest.param('a: "\\ud800"', r":1: not valid YAML: ", id="surrogate"),
        pytest.param("%YAML 9.9\n--- a", r":1: not valid YAML: ", id="version"),
        pytest.param(bomb(9), r":7: excessive aliasing: more than 16 MiB", id="bomb"),
        pytest.param(a_long_text_many_times(), r":2: excessive aliasing: more than 16 MiB", id="bomb-of-one-text"),
        pytest.param(chain(40, 90), r":3: nested more than 100 levels deep", id="deep-by-aliases"),
        pytest.param("#\n" + "[" * 100_000, r":2: nested more than 100 levels deep", id="deep-flow"),
        pytest.param("{a: " * 10_000, r":1: nested more than 100 levels deep", id="deep-flow-mapping"),
        pytest.param("- " * 10_000 + "a", r":1: nested more than 100 levels deep", id="deep-block"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_file_and_line(text, message):
    with pytest.raises(InputError, match=f"^dump.yaml.*{message}") as error:
        read(text)
    assert "\n" not in str(error.value)


def test_many_plain_values_are_no_bomb(monkeypatch):
    """Only what aliases add counts."""
    monkeypatch.setattr("restow.documents.yaml_events.MOST_ADDED", 20)
    assert len(read("a: [" + "x, " * 1000 + "]")[0]["a"]) == 1000
    assert read("a: &x [1, 2, 3]\nb: *x\nc: *x")
    with pytest.raises(InputError, match="excessive aliasing"):
        read("a: &x [1, 2, 3]\nb: *x\nc: *x\nd: *x")
