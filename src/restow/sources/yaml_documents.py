"""YAML dumps to JSON, one document at a time.

libyaml composes the document; this module decides what its scalars mean (as Kubernetes' own reader does: no
timestamps), refuses a key that is written twice, and counts values as aliases expand, so that a small file cannot
become a large one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import yaml

from restow.errors import InputError
from restow.kube.yaml_scalars import resolve

#: Values that aliases may add to what is written.
_MOST_EXPANDED = 1_000_000
_DEEPEST = 100
_STANDARD = "tag:yaml.org,2002:"
_PLAIN_TAGS = {f"{_STANDARD}{name}" for name in ("bool", "int", "float", "null", "timestamp", "value", "merge")}


def yaml_to_json(text: bytes, origin: str) -> Iterator[bytes]:
    """Each non-empty document of a YAML stream as JSON; InputError with file and line where it is not one."""
    try:
        for root in yaml.compose_all(text, Loader=yaml.CSafeLoader):
            value = _Reader(origin).value(root, 0)
            if value is not None:
                yield msgspec.json.encode(value)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{origin}:{line}: not valid YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise InputError(f"{origin}: not valid YAML: {error}") from error
    except RecursionError as error:
        raise InputError(f"{origin}: nested too deeply; this is not a cluster") from error


@dataclass(slots=True)
class _Reader:
    """Turns composed nodes into plain values."""

    origin: str
    seen: int = 0

    def value(self, node: Any, depth: int) -> Any:
        self.seen += 1
        if depth > _DEEPEST:
            raise self._error(node, f"nested more than {_DEEPEST} levels deep; this is not a Kubernetes object")
        if self.seen > _MOST_EXPANDED:
            self._check_expansion(node)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        return self._mapping(node, depth)

    def _mapping(self, node: Any, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None:
                raise self._error(key_node, "a key must be a word, not a list or a mapping")
            if key in result:
                raise self._error(key_node, f'the key "{key}" is written twice')
            result[key] = self.value(value_node, depth + 1)
        return result

    def _scalar(self, node: Any) -> Any:
        if node.style is not None or node.tag not in _PLAIN_TAGS:
            return node.value
        value = resolve(node.value)
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error(node, f"{node.value} is not a number that JSON can hold")
        return value

    def _check_expansion(self, node: Any) -> None:
        """Values may be as many as lines of text; far more come from aliases within aliases."""
        if self.seen > _MOST_EXPANDED + 100 * (node.end_mark.index + 1):
            raise self._error(node, "aliases expand to more values than any cluster has")

    def _error(self, node: Any, message: str) -> InputError:
        return InputError(f"{self.origin}:{node.start_mark.line + 1}: {message}")
