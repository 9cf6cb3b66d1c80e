"""From paths to JSON documents: files, directories and standard input; JSON, YAML and gzip.

Every input becomes ``Document``s of JSON bytes, so that one decoder (``sources.documents``) serves all. JSON is passed
on as it is; YAML is read by libyaml and written as JSON once. Large files are mapped, not read: their pages are the
operating system's to keep or drop. Objects that are to be created are read whole, as plain data (``read_manifests``).

A small packed file must not unpack to more than the machine has (``Sizes``). What is read into memory counts: packed
files, pipes and standard input; mapped files do not. Dumps are packed to between a tenth and a twentieth of their size
(11 to 19 measured), a bomb to a thousandth. A plan takes four times what a dump unpacks to, and eight times at worst
within these limits: 1 GB for a packed file of 3 MB.
"""

from __future__ import annotations

import codecs
import gzip
import json
import mmap
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import Raw, Struct

from restow.documents.nodes import ListNode, MapNode, Node, ScalarNode, Source
from restow.documents.yaml_text import read_yaml
from restow.errors import InputError
from restow.kube import decoding
from restow.kube.decoding import DECODING_ERRORS, path_first
from restow.kube.excerpts import excerpt

#: Bytes that all inputs of one command may take: a real dump of 150,000 pods has less than half of it.
MOST_IN_MEMORY: Final = 4 << 30
#: How many times larger than its file an unpacked input may be.
LARGEST_RATIO: Final = 50
#: Bytes up to which the ratio does not matter.
SMALL: Final = 16 << 20
#: Bytes of unpacked text to a comma: real dumps have 30, of values so small that each takes 20 times its text have 3.
FEWEST_PER_COMMA: Final = 10
#: The option that lifts all of it.
OPTION: Final = "--no-size-limit"

#: Bytes that are read or unpacked at a time.
_CHUNK: Final = 1 << 20


@dataclass(slots=True)
class Sizes:
    """What the inputs of one command have taken; ``limited`` is False where people know their file and ask for it."""

    limited: bool = True
    taken: int = 0

    def read(self, stream: BinaryIO, origin: str) -> memoryview:
        """All of a stream; InputError where it is more than all inputs may take."""
        text = bytearray()
        while part := stream.read(_CHUNK):
            self._take(len(part), origin)
            text += part
        return memoryview(text)

    def unpack(self, data: memoryview, origin: str) -> memoryview:
        """All members of a gzip file, one after another; InputError where it is none, or too large."""
        text, commas = bytearray(), 0
        try:
            with gzip.GzipFile(fileobj=_Stream(data)) as file:  # type: ignore[call-overload]
                while part := file.read(_CHUNK):
                    self._take(len(part), origin)
                    text += part
                    commas += part.count(b",")
                    self._check(len(text), len(data), commas, origin)
        except EOFError as error:
            raise InputError(f"{origin}: the gzip file is truncated") from error
        except (zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{origin}: not a valid gzip file: {error}") from error
        return memoryview(text)

    def _take(self, size: int, origin: str) -> None:
        self.taken += size
        if self.limited and self.taken > MOST_IN_MEMORY:
            raise _too_large(origin, f"more than {MOST_IN_MEMORY >> 30} GiB in memory, with all inputs before it")

    def _check(self, size: int, packed: int, commas: int, origin: str) -> None:
        if not self.limited or size <= SMALL:
            return
        if size > LARGEST_RATIO * packed:
            raise _too_large(origin, f"unpacks to more than {LARGEST_RATIO} times its size")
        if size < FEWEST_PER_COMMA * commas:
            raise _too_large(origin, "unpacks to millions of tiny values")


def _too_large(origin: str, why: str) -> InputError:
    return InputError(f"{origin}: {why}; this is hardly a cluster ({OPTION} reads it all the same)")


@dataclass(slots=True)
class _Stream:
    """A view as a file to read, without a copy of it."""

    data: memoryview
    position: int = 0

    def read(self, size: int) -> bytes:
        part = bytes(self.data[self.position : self.position + size])
        self.position += len(part)
        return part


STDIN = "-"
#: Of the files of a recording.
_RECORDED = ".jsonl.gz"
_SUFFIXES = (".json", ".yaml", ".yml")
_GZIP = b"\x1f\x8b"
#: State of a UTF-8 decoder that waits for no more bytes of a character.
_BETWEEN_CHARACTERS = (b"", 0)
_BLANKS = re.compile(r"[ \t\r\n]*")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

Data = bytes | memoryview

#: Bytes in which the metadata of a usual item have begun, however it is indented.
_BEGINNING = 160
_METADATA = b'"metadata"'

_DEEPEST = 100


@dataclass(slots=True, frozen=True)
class InputDocument:
    """One JSON document and where it came from."""

    origin: str
    data: Data

    def release(self) -> None:
        """Give back the memory of a mapped file; what is looked at after that is read from the file again."""
        mapped = memoryview(self.data).obj
        if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)


# Kubernetes writes both before the metadata, so 150,000 pods begin with the same few bytes. Only an item that begins
# otherwise is searched to its end.
class Header(Struct, frozen=True, rename="camel"):
    """The fields that say what an object is."""

    kind: str | None = None
    api_version: str | None = None


class HeaderReader:
    """Reads the headers of the items of one document."""

    def __init__(self) -> None:
        self._decoder = msgspec.json.Decoder(Header)
        self._known: dict[bytes, Header] = {}

    def read(self, item: Raw) -> Header:
        """The header of an item; msgspec.MsgspecError where it is no object or has a field of a wrong type."""
        beginning, metadata, _ = bytes(memoryview(item)[:_BEGINNING]).partition(_METADATA)
        if not metadata:
            return decoding.decode(self._decoder, item)
        known = self._known.get(beginning)
        if known is None:
            known = self._known[beginning] = self._complete(beginning)
        return known if known.kind and known.api_version else decoding.decode(self._decoder, item)

    def _complete(self, beginning: bytes) -> Header:
        """The header, if all of it stands before the metadata."""
        try:
            return self._decoder.decode(beginning.rstrip(b", \t\r\n") + b"}")
        except msgspec.MsgspecError:
            return Header()


def input_files(paths: Sequence[str]) -> list[str]:
    """The files that ``-f`` names: directories are replaced by the JSON and YAML files right inside them, by name.

    InputError for a path that does not exist, and for a directory without such files.
    """
    return [name for path in paths for name in _expand(path)]


def _expand(path: str) -> list[str]:
    if path == STDIN:
        return [path]
    try:
        place = Path(path)
        if not place.exists():
            raise InputError(f"{path}: no such file or directory")
        if not place.is_dir():
            return [path]
        inside = sorted(str(each) for each in place.iterdir() if each.is_file() and _is_dump(each))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    if not inside and any(each.name.endswith(_RECORDED) for each in place.iterdir()):
        raise InputError(f"{path}: is a recording; restow snapshot -f {path} --at TIME makes a dump of a moment of it")
    if not inside:
        raise InputError(f"{path}: no .json, .yaml or .yml file in this directory")
    return inside


def _is_dump(path: Path) -> bool:
    name = path.name.removesuffix(".gz")
    return name.endswith(_SUFFIXES)


def origin_of(name: str) -> str:
    """What people call an input."""
    return "standard input" if name == STDIN else name


def read_documents(name: str, sizes: Sizes) -> Iterator[InputDocument]:
    """The documents of one file or of standard input; InputError where they cannot be read, or are too large."""
    origin = origin_of(name)
    data = read_text(name, sizes)
    head = bytes(data[:_CHUNK]).lstrip()
    if not head and len(data) <= _CHUNK:
        raise InputError(f"{origin}: the file is empty")
    if head[:1] == b"{":
        yield InputDocument(origin, data)
    else:
        yield from (InputDocument(origin, each) for each in yaml_to_json(bytes(data), origin))


def read_text(name: str, sizes: Sizes) -> Data:
    """The text of one file or of standard input, unpacked; InputError where it cannot be read, is too large or not UTF-8."""
    origin = origin_of(name)
    return _text(_load(name, origin, sizes), origin)


def _load(name: str, origin: str, sizes: Sizes) -> memoryview:
    try:
        data = sizes.read(sys.stdin.buffer, origin) if name == STDIN else _map(name, origin, sizes)
        return sizes.unpack(data, origin) if bytes(data[:2]) == _GZIP else data
    except OSError as error:
        raise InputError(f"{origin}: {error.strerror or error}") from error


def _map(name: str, origin: str, sizes: Sizes) -> memoryview:
    with Path(name).open("rb") as file:
        try:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (ValueError, OSError):
            # Empty files, pipes and devices cannot be mapped.
            return sizes.read(file, origin)


def _text(data: Data, origin: str) -> Data:
    """The data without a byte order mark; InputError unless it is UTF-8."""
    if bytes(data[:2]) in _UTF16:
        raise InputError(
            f"{origin}: the file is UTF-16, not UTF-8; save it as UTF-8 (PowerShell: | Out-File -Encoding utf8)"
        )
    start = len(codecs.BOM_UTF8) if bytes(data[:3]) == codecs.BOM_UTF8 else 0
    decoder = codecs.getincrementaldecoder("utf-8")()
    for offset in range(start, len(data), _CHUNK):
        chunk = bytes(data[offset : offset + _CHUNK])
        if chunk.isascii() and decoder.getstate() == _BETWEEN_CHARACTERS:
            continue
        try:
            decoder.decode(chunk, final=offset + _CHUNK >= len(data))
        except UnicodeDecodeError as error:
            raise InputError(f"{origin}: not UTF-8 text: {error.reason} near byte {offset + error.start}") from error
    return data[start:] if start else data


def split_json(data: Data, origin: str) -> Iterator[InputDocument]:
    """Several JSON documents written one after another, as ``cat a.json b.json`` makes them.

    InputError where the text is not JSON.
    """
    text, decoder = bytes(data).decode(), json.JSONDecoder(parse_int=str, parse_float=str)
    position = _after_blanks(text, 0)
    while position < len(text):
        try:
            _, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{origin}: not valid JSON: {error}") from error
        yield InputDocument(origin, text[position:end].encode())
        position = _after_blanks(text, end)


def _after_blanks(text: str, position: int) -> int:
    blanks = _BLANKS.match(text, position)
    return blanks.end() if blanks else position


# The text is read as every YAML is here (``documents.yaml_text``), so that scalars mean what they mean to Kubernetes.
# A key that is written twice is refused. A dump goes only as deep as a Kubernetes object may.
def yaml_to_json(text: bytes, origin: str) -> Iterator[bytes]:
    """Each non-empty document of a YAML stream as JSON; InputError with file and line where it is not one."""
    source = Source(origin, "a Kubernetes object", _DEEPEST)
    for root in read_yaml(text, source):
        value = _Plain(source).of(root)
        if value is not None:
            yield msgspec.json.encode(value)


@dataclass(slots=True)
class _Plain:
    """Makes plain values of the nodes of one document; those that aliases repeat are made once."""

    source: Source
    made: dict[int, Any] = field(default_factory=dict)

    def of(self, node: Node) -> Any:
        if isinstance(node, ScalarNode):
            self.source.check_number(node)
            return node.value
        if id(node) not in self.made:
            self.made[id(node)] = [*map(self.of, node.items)] if isinstance(node, ListNode) else self._mapping(node)
        return self.made[id(node)]

    def _mapping(self, node: MapNode) -> dict[str, Any]:
        values: dict[str, Any] = {}
        written: set[str] = set()
        for entry in node.entries:
            if entry.merged:
                values.setdefault(entry.key, self.of(entry.value))
                continue
            if entry.key in written:
                raise self.source.error(entry.line, f'the key "{excerpt(entry.key)}" is written twice')
            written.add(entry.key)
            values[entry.key] = self.of(entry.value)
        return values


Manifest = dict[str, Any]


def read_manifests(path: str, sizes: Sizes) -> list[Manifest]:
    """The objects of a file or a directory, those of lists one by one; InputError where it cannot be read."""
    return [each for name in input_files([path]) for each in _objects_in(name, sizes)]


def _objects_in(name: str, sizes: Sizes) -> Iterator[Manifest]:
    for document in read_documents(name, sizes):
        for value in _values(document):
            yield from unlisted(value, document.origin)


def _values(document: InputDocument) -> Iterator[Any]:
    """The value of a text, or those of one that holds several."""
    try:
        yield msgspec.json.decode(document.data)
    except DECODING_ERRORS:
        for part in split_json(document.data, document.origin):
            try:
                yield msgspec.json.decode(part.data)
            except DECODING_ERRORS as error:
                raise InputError(f"{document.origin}: {path_first(error)}") from error


def unlisted(value: Any, origin: str) -> Iterator[Manifest]:
    """The object, or those of a list, which may leave their kind to it; InputError where it is none."""
    if not isinstance(value, dict):
        raise InputError(f"{origin}: not a Kubernetes object; write a mapping with apiVersion, kind and metadata")
    items, kind = value.get("items"), value.get("kind")
    if not isinstance(items, list) or not isinstance(kind, str) or not kind.endswith("List"):
        yield value
        return
    head = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")} if kind != "List" else {}
    for item in items:
        yield from unlisted(head | item if isinstance(item, dict) else item, origin)
