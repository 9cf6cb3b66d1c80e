"""From paths to documents: encodings, gzip, directories, standard input, concatenated JSON."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import sys
import threading

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.errors import InputError
from restow.sources.reading import (
    Header,
    HeaderReader,
    InputDocument,
    Sizes,
    input_files,
    read_documents,
    split_json,
    yaml_to_json,
)

JSON = b'{"kind": "List"}'

POD = Header("Pod", "v1")
LONG = "x" * 500


def contents(path):
    return [bytes(document.data) for document in read_documents(str(path), Sizes())]


@pytest.fixture
def a_file(tmp_path):
    def write(data, name="dump.json"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def refusal(path):
    with pytest.raises(InputError) as error:
        contents(path)
    message = str(error.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.removeprefix(str(path))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(JSON, [JSON], id="json-as-it-is"),
        pytest.param(codecs.BOM_UTF8 + JSON, [JSON], id="byte-order-mark"),
        pytest.param(b"\n  " + JSON, [b"\n  " + JSON], id="leading-blanks"),
        pytest.param(gzip.compress(JSON), [JSON], id="gzip"),
        pytest.param(gzip.compress(codecs.BOM_UTF8 + JSON), [JSON], id="gzip-mark"),
        pytest.param(b"".join(gzip.compress(JSON[i : i + 1]) for i in range(len(JSON))), [JSON], id="gzip-members"),
        pytest.param(b"kind: List\n", [b'{"kind":"List"}'], id="yaml"),
        pytest.param(gzip.compress(b"kind: List\n"), [b'{"kind":"List"}'], id="gzip-yaml"),
        pytest.param(b"a: 1\n---\nb: 2\n...\n---\n# nothing\n---\nc: 3\n", [b'{"a":1}', b'{"b":2}', b'{"c":3}'], id="many"),
        pytest.param("ä: ü\n".encode(), ['{"ä":"ü"}'.encode()], id="not-ascii"),
    ],
)  # fmt: skip
def test_what_a_file_holds(a_file, data, expected):
    assert contents(a_file(data)) == expected


def test_many_gzip_members_are_no_deeper_than_one(a_file):
    """As block gzip writes them."""
    assert contents(a_file(gzip.compress(b"{") + gzip.compress(b" ") * 3000 + gzip.compress(b"}"))) == [
        b"{" + b" " * 3000 + b"}"
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", ": the file is empty", id="empty"),
        pytest.param(b" \n\t\n", ": the file is empty", id="blank"),
        pytest.param(gzip.compress(b""), ": the file is empty", id="empty-gzip"),
        pytest.param(codecs.BOM_UTF8, ": the file is empty", id="only-a-mark"),
        pytest.param(gzip.compress(JSON)[:-9], ": the gzip file is truncated", id="truncated-gzip"),
        pytest.param(gzip.compress(JSON)[:5], ": the gzip file is truncated", id="truncated-gzip-head"),
        pytest.param(gzip.compress(JSON)[:2], ": the gzip file is truncated", id="gzip-magic-alone"),
        pytest.param(b"\x1f\x8b" + b"x" * 30, ": not a valid gzip file: ", id="no-gzip"),
        pytest.param(gzip.compress(JSON) + b"more", ": not a valid gzip file: ", id="gzip-and-more"),
        pytest.param(b'{"a": "\xff"}', ": not UTF-8 text: invalid start byte near byte 7", id="latin-1"),
        pytest.param(b'{"a": "\xc3', ": not UTF-8 text: unexpected end of data near byte 7", id="half-a-character"),
        pytest.param(b"a: \xe9\n", ": not UTF-8 text", id="latin-1-yaml"),
        pytest.param('{"a": 1}'.encode("utf-16"), ": the file is UTF-16, not UTF-8; save it as UTF-8", id="utf-16"),
        pytest.param('{"a": 1}'.encode("utf-16-be"), ": not valid YAML: .* at byte 0", id="utf-16-without-mark"),
        pytest.param("a: 1".encode("utf-32"), ": the file is UTF-16", id="utf-32"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_in_one_sentence(a_file, data, message):
    path = a_file(data)
    with pytest.raises(InputError, match=message):
        contents(path)
    refusal(path)


def test_a_character_may_lie_across_two_chunks(a_file):
    """Every character begins at an odd byte, and chunks have an even size."""
    data = f'{{"aa":"{"ß" * 2_000_000}"}}'.encode()
    assert contents(a_file(data)) == [data]


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(JSON))))
    assert list(read_documents("-", Sizes())) == [InputDocument("standard input", JSON)]
    with pytest.raises(InputError, match=r"^standard input: the file is empty"):
        contents("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe(tmp_path):
    """As ``-f <(kubectl get ...)`` gives it."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=[JSON])
    writer.start()
    assert contents(path) == [JSON]
    writer.join()


def test_a_directory_is_the_dumps_right_inside_it_by_name(tmp_path):
    for name in ("b.json", "a.yaml", "c.yml.gz", "d.json.gz", "notes.txt", "e.gz", "json"):
        (tmp_path / name).write_bytes(JSON)
    (tmp_path / "inner.json").mkdir()
    assert input_files([str(tmp_path)]) == [str(tmp_path / name) for name in ("a.yaml", "b.json", "c.yml.gz", "d.json.gz")]  # fmt: skip


def test_files_keep_the_order_in_which_they_are_named(a_file):
    first, second = str(a_file(JSON, "z.txt")), str(a_file(JSON, "a.json"))
    assert input_files([first, "-", second]) == [first, "-", second]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("missing.json", "^missing.json: no such file or directory$", id="missing"),
        pytest.param("x" * 5000, "^x+: File name too long$", id="too-long"),
        pytest.param("a\0b", "no such file or directory$", id="NUL"),
        pytest.param("", "^: no such file or directory$|no .json, .yaml or .yml file", id="no-name"),
    ],
)
def test_a_path_that_leads_nowhere_is_an_error(path, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        input_files([path])


def test_a_directory_without_dumps_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"no \.json, \.yaml or \.yml file in this directory$"):
        input_files([str(tmp_path)])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_an_error(a_file):
    path = a_file(JSON)
    path.chmod(0)
    assert refusal(path) == ": Permission denied"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param(b"{}{}", [b"{}", b"{}"], id="touching"),
        pytest.param(b' \n{"a": "}{"}\n\n\t{"b": 1} \n', [b'{"a": "}{"}', b'{"b": 1}'], id="blanks"),
        pytest.param('{"ä": 1}{"ö": 2}'.encode(), ['{"ä": 1}'.encode(), '{"ö": 2}'.encode()], id="not-ascii"),
        pytest.param(b"", [], id="nothing"),
    ],
)
def test_json_documents_one_after_another(text, parts):
    assert list(split_json(text, "dump")) == [InputDocument("dump", part) for part in parts]


@pytest.mark.parametrize("text", [b"{} garbage", b"{}{", b"{}" + b"[" * 100_000], ids=["garbage", "cut", "deep"])
def test_what_follows_must_be_json_too(text):
    with pytest.raises(InputError, match=r"^dump: not valid JSON: "):
        list(split_json(text, "dump"))


def header(item, **layout):
    return HeaderReader().read(msgspec.Raw(json.dumps(item, **layout).encode()))


@pytest.mark.parametrize(
    "item",
    [
        pytest.param({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, id="usual"),
        pytest.param({"kind": "Pod", "metadata": {"name": "a"}, "apiVersion": "v1"}, id="version last"),
        pytest.param({"metadata": {"name": "a"}, "spec": {}, "kind": "Pod", "apiVersion": "v1"}, id="metadata first"),
        pytest.param({"data": {"metadata": {}}, "kind": "Pod", "apiVersion": "v1"}, id="other metadata"),
        pytest.param({"data": {"metadata": 1, "kind": "Other"}, "kind": "Pod", "apiVersion": "v1"}, id="other kind"),
        pytest.param({"data": '"metadata"', "kind": "Pod", "apiVersion": "v1", "metadata": {}}, id="quoted"),
        pytest.param({"data": LONG, "kind": "Pod", "apiVersion": "v1", "metadata": {}}, id="far behind"),
        pytest.param({"apiVersion": "v1", "kind": "Pod"}, id="no metadata"),
    ],
)
@pytest.mark.parametrize("indent", [None, 4])
def test_kind_and_version_are_found(item, indent):
    assert header(item, indent=indent) == POD


@pytest.mark.parametrize(
    ("item", "found"),
    [
        pytest.param({"metadata": {"name": "a"}}, Header(), id="neither"),
        pytest.param({"kind": "Pod", "metadata": {}}, Header("Pod"), id="kind alone"),
        pytest.param({"apiVersion": "v1", "metadata": {}}, Header(None, "v1"), id="version alone"),
        pytest.param({"apiVersion": "v1", "kind": None, "metadata": {}}, Header(None, "v1"), id="null"),
    ],
)
def test_what_is_missing_stays_missing(item, found):
    assert header(item) == found


@pytest.mark.parametrize(
    "item", [pytest.param({"apiVersion": "v1", "kind": 1, "metadata": {}}, id="kind"), pytest.param([1], id="list")]
)
def test_a_wrong_type_is_an_error(item):
    with pytest.raises(msgspec.ValidationError):
        header(item)


FIELDS = st.dictionaries(
    st.sampled_from(["apiVersion", "kind", "metadata", "data", "spec"]),
    st.sampled_from(["v1", "Pod", "metadata", "kind"]),
)


@given(st.lists(FIELDS, max_size=5))
def test_one_item_tells_nothing_of_another(items):
    """A reader that has seen other items says of each what a fresh one says of it."""
    reader = HeaderReader()
    for item in items:
        assert reader.read(msgspec.Raw(json.dumps(item).encode())) == Header(item.get("kind"), item.get("apiVersion"))


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
    monkeypatch.setattr("restow.documents.yaml_text.MOST_ADDED", 20)
    assert len(read("a: [" + "x, " * 1000 + "]")[0]["a"]) == 1000
    assert read("a: &x [1, 2, 3]\nb: *x\nc: *x")
    with pytest.raises(InputError, match="excessive aliasing"):
        read("a: &x [1, 2, 3]\nb: *x\nc: *x\nd: *x")
