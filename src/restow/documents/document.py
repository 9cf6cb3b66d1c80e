"""The text of a small file as plain data that remembers its lines.

It is YAML, or JSON if it starts with a brace; the Go programs that read the same files decide the same way. Reading any
bytes ends in a document or in an InputError, in bounded time: aliases are expanded, and a file that would expand into
more than any configuration holds is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct

from restow.documents.findings import DocumentError, Finding, Issue, Path, path_text
from restow.documents.json_text import read_json
from restow.documents.nodes import ListNode, MapNode, Node, ScalarNode, Source
from restow.documents.yaml_text import read_yaml
from restow.errors import InputError
from restow.kube.excerpts import abridged

#: More than any configuration, with all aliases expanded; keeps a hostile file from exhausting memory and time.
MAX_VALUES = 100_000


class DocumentKind(Struct, frozen=True):
    """A kind of file, in the words of errors about files of other kinds."""

    #: With its article: "a DeschedulerPolicy".
    what: str
    #: How such a file starts.
    start: str


class Document(Struct, frozen=True):
    """The first document of a file as plain dicts, lists and scalars."""

    filename: str
    data: dict[str, Any]
    #: Line of each key and list item, 1-based.
    lines: dict[Path, int] = msgspec.field(default_factory=dict)
    #: Keys written more than once: the last one is in ``data``.
    duplicates: tuple[Path, ...] = ()
    is_json: bool = False
    #: Whether the file has further documents, which are not read.
    has_more: bool = False
    #: Where in the file this stands, such as ``data.policy.yaml`` of a ConfigMap; empty for the whole file.
    inside: str = ""

    def line(self, path: Path) -> int:
        """Return the line of the path, or of the nearest thing around it that is written down; else 1."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return 1

    def place(self, path: Path) -> str:
        """Return the path as people write it, from the top of the file."""
        return ".".join(filter(None, (self.inside, path_text(path))))


def to_findings(document: Document, issues: Iterable[Issue]) -> list[Finding]:
    """Return the issues, each once, with the file's name, lines and fields."""
    return [
        Finding(
            file=document.filename,
            line=document.line(issue.path),
            severity=issue.severity,
            path=document.place(issue.path),
            message=abridged(issue.message),
            hint=issue.hint,
        )
        for issue in dict.fromkeys(issues)
    ]


def refusal(document: Document, errors: Iterable[Issue]) -> DocumentError:
    """Return the exception that names every error, one a line."""
    return DocumentError(*to_findings(document, errors))


def read_document(text: bytes, filename: str, kind: DocumentKind) -> Document:
    """Return the content of a file; an empty file is an empty document.

    Raises InputError, with file and line, for anything but one mapping in UTF-8.
    """
    source = Source(filename, kind.what)
    decoded = _decode(text, source)
    is_json = decoded.lstrip().startswith("{")
    root, has_more = (read_json(decoded, source), False) if is_json else _first(text, source)
    if root is None or (isinstance(root, ScalarNode) and root.value is None):
        return Document(filename, {}, has_more=has_more)
    if not isinstance(root, MapNode):
        found = "a list" if isinstance(root, ListNode) else "a single value"
        raise source.error(root.line, f"{found}, not {kind.what}; start with {kind.start}")
    reader = _Flattening(source)
    data = reader.plain(root, ())
    return Document(filename, data, reader.lines, tuple(reader.duplicates), is_json, has_more)


def _decode(text: bytes, source: Source) -> str:
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise source.error(line, f"not UTF-8 text: {error.reason} at byte {error.start}") from None


def _first(text: bytes, source: Source) -> tuple[Node | None, bool]:
    """Return the first document of a stream, and whether another one follows, valid or not."""
    documents = read_yaml(text, source)
    first = next(documents, None)
    try:
        return first, next(documents, None) is not None
    except InputError:
        return first, True


def repeated_keys(document: Document) -> list[Issue]:
    """Return the errors of a file in which no key may be written twice."""
    return [Issue(path, "is written twice", hint="remove one of them") for path in document.duplicates]


def further_documents(document: Document) -> list[Issue]:
    """Return the warning about documents that are not read, if there are any."""
    return [Issue((), "only the first YAML document of a file is read", "warning")] if document.has_more else []


@dataclass(slots=True)
class _Flattening:
    """Expands a tree into plain data, noting lines and repeated keys on the way."""

    source: Source
    lines: dict[Path, int] = field(default_factory=dict)
    duplicates: list[Path] = field(default_factory=list)
    values: int = 0

    def plain(self, node: Node, path: Path) -> Any:
        self._count(node)
        self.source.check_depth(len(path), node.line)
        if isinstance(node, ScalarNode):
            self.source.check_number(node, path)
            return node.value
        if isinstance(node, ListNode):
            return [self._item(item, (*path, index)) for index, item in enumerate(node.items)]
        return self._mapping(node, path)

    def _count(self, node: Node) -> None:
        self.values += 1
        if self.values > MAX_VALUES:
            message = f"more than {MAX_VALUES:,} values, aliases expanded; this is not {self.source.what}"
            raise self.source.error(node.line, message)

    def _item(self, item: Node, path: Path) -> Any:
        self.lines[path] = item.line
        return self.plain(item, path)

    def _mapping(self, node: MapNode, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        written: set[str] = set()
        for entry in node.entries:
            inner = (*path, entry.key)
            if entry.key in written and not entry.merged:
                self.duplicates.append(inner)
            if not entry.merged:
                written.add(entry.key)
            self.lines[inner] = entry.line
            data[entry.key] = self.plain(entry.value, inner)
        return data
