"""A configuration's text as plain data that remembers its lines.

YAML, or JSON if it starts with a brace; libyaml reads both. Scalars mean what they mean to Go programs
(``kube.yaml_scalars``), and keys written twice are refused, as kube-scheduler refuses them.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from restow.errors import InputError
from restow.kube.excerpts import excerpt
from restow.kube.yaml_events import check_yaml
from restow.kube.yaml_scalars import resolve

#: Keys and indexes from the top of a document.
Path = tuple[str | int, ...]

#: Deeper and larger than any configuration; aliases that repeat or contain themselves end here.
_DEEPEST: Final = 40
_MOST_VALUES: Final = 100_000
_WHAT: Final = "a scheduler configuration"
_MERGE: Final = "tag:yaml.org,2002:merge"


@dataclass(slots=True, frozen=True)
class Document:
    """The first document of a file."""

    name: str
    data: Any
    #: Of each key and list item, 1-based.
    lines: dict[Path, int]
    #: Whether the file goes on with documents that nobody reads.
    has_more: bool = False

    def sentence(self, path: Path, message: str) -> str:
        """The message with file, line and field in front."""
        line = next((self.lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.lines), 1)
        field_path = path_text(path)
        return f"{self.name}:{line}: {field_path}: {message}" if field_path else f"{self.name}:{line}: {message}"

    def error(self, path: Path, message: str) -> InputError:
        """The exception that says where what is wrong."""
        return InputError(self.sentence(path, message))


def path_text(path: Path) -> str:
    """The path as people write it: ``profiles[0].pluginConfig[1].args``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{excerpt(step)}" for step in path).removeprefix(".")


def read_document(text: bytes, name: str) -> Document:
    """What a configuration file holds; InputError with file and line where it is neither YAML nor JSON."""
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text: {error.reason} at byte {error.start}") from None
    if decoded.lstrip().startswith("{"):
        _check_json(decoded, name)
        # JSON allows tabs between its parts, and only there; YAML does not.
        decoded = decoded.replace("\t", " ")
    try:
        check_yaml(decoded, _DEEPEST, _WHAT, lambda line, message: InputError(f"{name}:{line}: {message}"))
        loader = yaml.CSafeLoader(decoded)
        node = loader.get_node() if loader.check_node() else None
        reader = _Reader(name)
        return Document(name, reader.plain(node, ()) if node else None, reader.lines, _another(loader))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{name}:{line}: not valid YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{name}: not valid YAML: {str(error).splitlines()[0]}") from None


def _another(loader: yaml.CSafeLoader) -> bool:
    try:
        return bool(loader.check_node())
    except yaml.YAMLError:
        return True


def _check_json(text: str, name: str) -> None:
    try:
        # Only whether it is JSON matters here: no number is made of digits that may be any number.
        json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise InputError(f"{name}:{error.lineno}: not valid JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(f"{name}: nested more than {_DEEPEST} levels deep; this is not {_WHAT}") from None


@dataclass(slots=True)
class _Reader:
    """Turns nodes into plain values and notes their lines."""

    name: str
    lines: dict[Path, int] = field(default_factory=dict)
    values: int = 0

    def plain(self, node: yaml.Node, path: Path) -> Any:
        self.values += 1
        if len(path) > _DEEPEST or self.values > _MOST_VALUES:
            raise self._error(node, f"nested too deeply or too large; this is not {_WHAT}")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._inside(item, item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _inside(self, place: yaml.Node, node: yaml.Node, path: Path) -> Any:
        self.lines[path] = place.start_mark.line + 1
        return self.plain(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        written: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                merged |= self._merged(value, path)
                continue
            word = self._key(key)
            if word in written:
                raise self._error(key, f'the key "{excerpt(word)}" is written twice')
            written[word] = self._inside(key, value, (*path, word))
        return merged | written

    def _merged(self, node: yaml.Node, path: Path) -> dict[str, Any]:
        """What a merge key takes over: of several mappings the first one that has a key counts."""
        merged: dict[str, Any] = {}
        for each in reversed(node.value) if isinstance(node, yaml.SequenceNode) else (node,):
            if not isinstance(each, yaml.MappingNode):
                raise self._error(each, "a merge key (<<) takes a mapping or a list of mappings")
            merged |= self.plain(each, path)
        return merged

    def _key(self, node: yaml.Node) -> str:
        value = self._scalar(node, ()) if isinstance(node, yaml.ScalarNode) else None
        if value is None:
            raise self._error(node, "a key must be a word, not null, a list or a mapping")
        return str(value).lower() if isinstance(value, bool) else str(value)

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        assert isinstance(node, yaml.ScalarNode), "mappings and sequences have been dealt with"
        value = node.value if node.style else resolve(node.value)
        if isinstance(value, float) and not math.isfinite(value):
            place = f"{path_text(path)}: " if path else ""
            raise self._error(node, f"{place}{excerpt(node.value)} is not a number that JSON can hold")
        return value

    def _error(self, node: yaml.Node, message: str) -> InputError:
        return InputError(f"{self.name}:{node.start_mark.line + 1}: {message}")
