"""From paths to documents: encodings, gzip, directories, standard input, concatenated JSON."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import sys
import threading

import pytest

from restow.errors import InputError
from restow.sources import reading
from restow.sources.reading import Document, input_files, read_documents, split_json
from restow.sources.sizes import Sizes

JSON = b'{"kind": "List"}'


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


def test_a_character_may_lie_across_two_chunks(a_file, monkeypatch):
    monkeypatch.setattr(reading, "_CHUNK", 4)
    data = '{"äöü": "ßßß"}'.encode()
    assert contents(a_file(data)) == [data]


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(JSON))))
    assert list(read_documents("-", Sizes())) == [Document("standard input", JSON)]
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
    assert list(split_json(text, "dump")) == [Document("dump", part) for part in parts]


@pytest.mark.parametrize("text", [b"{} garbage", b"{}{", b"{}" + b"[" * 100_000], ids=["garbage", "cut", "deep"])
def test_what_follows_must_be_json_too(text):
    with pytest.raises(InputError, match=r"^dump: not valid JSON: "):
        list(split_json(text, "dump"))
