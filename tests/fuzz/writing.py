"""Documents as bytes: JSON and YAML, lists and loose documents, packed, in folders, and damaged on the way."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import yaml
from hypothesis import strategies as st

from fuzz.hostile_values import MARK, Token
from fuzz.mutations import AGAIN, Document, Draw

Files = dict[str, bytes]
#: A token as a writer of JSON quotes it, and the end of a key that is written once more.
_TOKEN = re.compile(rf'"{re.escape(json.dumps(MARK)[1:-1])}(.*?){re.escape(json.dumps(MARK)[1:-1])}"')
_AGAIN = json.dumps(AGAIN)[1:]


def written(value: Document) -> str:
    """JSON on one line, tokens as they are and keys as often as they were written."""
    return _TOKEN.sub(_unquoted, json.dumps(value)).replace(_AGAIN, '"')


def _unquoted(found: re.Match[str]) -> str:
    text: str = json.loads(f'"{found[1]}"')
    return text


def block(value: Document) -> str:
    """YAML in blocks; one line of JSON, which is YAML too, where it holds what only that can express."""
    return (
        written(value) if _is_special(value) else yaml.dump(value, Dumper=_Plain, allow_unicode=True, sort_keys=False)
    )


def _is_special(value: Document) -> bool:
    if isinstance(value, dict):
        return any(str(key).endswith(AGAIN) or _is_special(each) for key, each in value.items())
    return any(map(_is_special, value)) if isinstance(value, list) else isinstance(value, Token)


class _Plain(yaml.CSafeDumper):
    """Writes no anchors: repeated values are written again."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


@st.composite
def one_file(draw: Draw, document: Document, stem: str) -> Files:
    """A document as one file, in some cases damaged."""
    form = draw(st.sampled_from(["json", "yaml", "yaml"]))
    text = written(document) if form == "json" else block(document)
    return {f"{stem}.{form}": draw(_damaged(encoded(text)))}


@st.composite
def dump(draw: Draw, items: Sequence[Document]) -> Files:
    """The items of a cluster as files below ``dump``, named as ``-f dump`` takes them."""
    texts = draw(st.sampled_from(_LAYOUTS))(items)
    files: Files = {}
    for at, (form, text) in enumerate(texts):
        data = draw(_damaged(encoded(text)))
        packed = draw(_OF_FIRST if at == 0 else _OF_OTHERS)
        files[f"dump/{at}.{form}{'.gz' * bool(packed)}"] = _PACKINGS[packed](data)
    return files


def encoded(text: str) -> bytes:
    """UTF-8, lone surrogates and all."""
    return text.encode("utf-8", "surrogatepass")


def _as_list(items: Sequence[Document]) -> list[tuple[str, str]]:
    return [("json", written({"apiVersion": "v1", "kind": "List", "items": list(items)}))]


def _as_list_of_kinds(items: Sequence[Document]) -> list[tuple[str, str]]:
    kinds: dict[str, list[Document]] = {}
    for each in items:
        kind = each.get("kind") if isinstance(each, dict) else None
        kinds.setdefault(kind if isinstance(kind, str) and not isinstance(kind, Token) else "", []).append(each)
    return [("json", written({"kind": f"{kind}List", "items": some})) for kind, some in kinds.items()]


def _as_loose_json(items: Sequence[Document]) -> list[tuple[str, str]]:
    return [("json", "\n".join(map(written, items)))]


def _as_yaml_list(items: Sequence[Document]) -> list[tuple[str, str]]:
    return [("yaml", block({"apiVersion": "v1", "kind": "List", "items": list(items)}))]


def _as_yaml_documents(items: Sequence[Document]) -> list[tuple[str, str]]:
    return [("yaml", "\n---\n".join(map(block, items)))]


def _as_folder(items: Sequence[Document]) -> list[tuple[str, str]]:
    return [("json", written(each)) if at % 2 else ("yml", block(each)) for at, each in enumerate(items)]


def _as_nested_lists(items: Sequence[Document]) -> list[tuple[str, str]]:
    half = len(items) // 2
    lists = [{"kind": "List", "items": list(some)} for some in (items[:half], items[half:])]
    return [("json", written({"kind": "List", "items": [*lists, {"kind": "PodList", "items": None}]}))]


_LAYOUTS = (
    *(_as_list, _as_list, _as_list, _as_list_of_kinds, _as_loose_json, _as_yaml_list, _as_yaml_documents),
    *(_as_folder, _as_nested_lists),
)


@cache
def _zeros() -> bytes:
    """A member of a gzip file: a kilobyte that becomes a mebibyte of blanks."""
    return gzip.compress(b" " * (1 << 20), mtime=0)


_PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".gz": lambda data: gzip.compress(data, 1, mtime=0),
    ".gz.gz": lambda data: (
        gzip.compress(data[: len(data) // 2], 1, mtime=0) + gzip.compress(data[len(data) // 2 :], 1, mtime=0)
    ),
    ".bomb": lambda data: gzip.compress(data, 1, mtime=0) + _zeros() * 3000,
}


#: Only one file is a bomb, and seldom: each takes the time of many inputs.
_OF_OTHERS = st.sampled_from([""] * 12 + [".gz", ".gz.gz", ".gz"])
_OF_FIRST = st.sampled_from(([""] * 12 + [".gz", ".gz.gz", ".gz"]) * 4 + [".bomb"])


@st.composite
def _damaged(draw: Draw, data: bytes) -> bytes:
    """The bytes, most often as they are."""
    if draw(st.integers(0, 5)) < 5 or not data:
        return data
    return draw(st.sampled_from(_DAMAGES))(draw, data)


def _cut(draw: Draw, data: bytes) -> bytes:
    return data[: draw(st.integers(0, len(data)))] + draw(st.binary(max_size=3))


def _flip(draw: Draw, data: bytes) -> bytes:
    changed = bytearray(data)
    for at in draw(st.lists(st.integers(0, len(data) - 1), min_size=1, max_size=4)):
        changed[at] = draw(st.sampled_from(b"\x00\x1b\x7f\x80\xff{}[]:,\"'&*!|>-%@`#\n\t 0a"))
    return bytes(changed)


def _insert(draw: Draw, data: bytes) -> bytes:
    at = draw(st.integers(0, len(data)))
    return data[:at] + draw(st.sampled_from(_INSERTS)) + data[at:]


def _encode_otherwise(draw: Draw, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(draw(st.sampled_from(["utf-16", "utf-16-be", "utf-8-sig", "utf-32", "latin-1"])), "replace")


_INSERTS = (
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\x1b[2J",
    b"\r\n",
    b"\n---\n",
    b"\n...\n",
    b"%YAML 9.9\n---\n",
    b"[" * 30_000,
    b"9" * 5_000,
)
_DAMAGES = (_cut, _flip, _insert, _encode_otherwise)


def words(*lines: str) -> Iterator[tuple[str, ...]]:
    """Commands as they would be typed."""
    yield from (tuple(line.split()) for line in lines)
