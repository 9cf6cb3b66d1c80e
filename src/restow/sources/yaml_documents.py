"""YAML dumps to JSON, one document at a time.

The text is read as every YAML is here (``documents.yaml_text``), so that scalars mean what they mean to Kubernetes. A
key that is written twice is refused. A dump goes only as deep as a Kubernetes object may.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from restow.documents.nodes import ListNode, MapNode, Node, ScalarNode, Source
from restow.documents.yaml_text import read_yaml
from restow.kube.excerpts import excerpt

_DEEPEST = 100


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
