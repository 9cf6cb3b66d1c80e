"""Interning: equal values get one small integer; and the arrays that hold the integers, which grow.

Thousands of replicas carry the same tolerations, affinity and resources to the byte. The store looks such a part up
by its bytes and decodes it once for each distinct text; columns then hold integers, and rules are evaluated once per
integer instead of once per pod.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

K = TypeVar("K", bound=Hashable)

#: Indices of pods or nodes, in canonical order.
IntArray = npt.NDArray[np.int64]
#: One identifier per pod or node.
IdArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]


#: A combined key that would exceed this is renumbered.
_MOST_KEYS = 2**62


class _Ids(dict[K, int]):
    """Numbers a key when it is first asked for."""

    def __missing__(self, key: K) -> int:
        number = self[key] = len(self)
        return number


class Interner(Generic[K]):
    """Hands out 0, 1, 2... to distinct keys in order of first appearance."""

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: _Ids[K] = _Ids()

    def __len__(self) -> int:
        return len(self._ids)

    def id(self, key: K) -> int:
        """The identifier of one key."""
        return self._ids[key]

    def ids(self, keys: Iterable[K]) -> list[int]:
        """The identifiers of many keys, in their order."""
        return list(map(self._ids.__getitem__, keys))

    def forget_after(self, count: int) -> None:
        """Forget all keys but the first ``count``."""
        while len(self._ids) > count:
            self._ids.popitem()

    def keys(self) -> list[K]:
        """All keys; the position of a key is its identifier."""
        return list(self._ids)


def hashable(value: Any) -> Hashable:
    """Something that is equal for equal values and can be looked up, of values that hold mappings too."""
    try:
        hash(value)
    except TypeError:
        if isinstance(value, Mapping):
            return frozenset((key, hashable(each)) for key, each in value.items())
        parts = value if isinstance(value, tuple | list) else _parts(value)
        return type(value), *map(hashable, parts)
    return value  # type: ignore[no-any-return]


def _parts(value: Any) -> Iterable[Any]:
    """What a dataclass or a struct holds."""
    names = value.__struct_fields__ if isinstance(value, Struct) else [each.name for each in fields(value)]
    return (getattr(value, name) for name in names)


def by_appearance(ids: npt.NDArray[np.integer]) -> tuple[IdArray, list[int]]:
    """Renumber identifiers in order of first appearance, without gaps.

    Returns the new identifier of each row and, for each new identifier, the old one.
    """
    if ids.size == 0:
        return np.zeros(0, dtype=np.int32), []
    if not ids.any():
        return np.zeros(len(ids), dtype=np.int32), [0]
    first = np.full(int(ids.max()) + 1, len(ids))
    first[ids[::-1]] = np.arange(len(ids))[::-1]
    old = np.argsort(first, kind="stable")[: int((first < len(ids)).sum())]
    new = np.zeros(len(first), dtype=np.int32)
    new[old] = np.arange(len(old), dtype=np.int32)
    return new[ids], old.tolist()


def combine(*columns: npt.NDArray[np.integer]) -> tuple[IdArray, npt.NDArray[np.int64]]:
    """Intern rows of several columns at once.

    Returns the identifier of each row, int32[row], and the distinct rows, int64[identifier, column], sorted; the
    numbering depends only on the values, so it is the same for any order of the input.
    """
    if columns[0].size == 0:
        return np.zeros(0, dtype=np.int32), np.zeros((0, len(columns)), dtype=np.int64)
    low = int(columns[0].min())
    key, distinct = columns[0].astype(np.int64) - low, int(columns[0].max()) - low + 1
    for column in columns[1:]:
        low = int(column.min())
        width = int(column.max()) - low + 1
        if distinct * width > _MOST_KEYS:
            known, key = np.unique(key, return_inverse=True)
            distinct = len(known)
        key = key.astype(np.int64) * width + (column.astype(np.int64) - low)
        distinct *= width
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    table = np.stack([column[first].astype(np.int64) for column in columns], axis=1)
    return inverse.astype(np.int32), table


_Array = npt.NDArray[Any]
#: Rows to begin with.
_ROOM = 64


class GrowingColumns:
    """Arrays of one length, copied into buffers with room for more rows."""

    def __init__(self, arrays: Mapping[str, _Array]) -> None:
        self._buffers = dict(arrays)
        self._count = self._room = min(map(len, arrays.values()))

    def resized(self, count: int) -> Mapping[str, _Array]:
        """The arrays by name, grown to ``count`` rows; the content of new rows is undefined."""
        if count > self._room or self._room == self._count:
            self._room = count + count // 8 + _ROOM
            self._buffers = {name: _with_room(old[: self._count], self._room) for name, old in self._buffers.items()}
        self._count = count
        return {name: buffer[:count] for name, buffer in self._buffers.items()}


def _with_room(array: _Array, room: int) -> _Array:
    buffer = np.empty(room, dtype=array.dtype)
    buffer[: len(array)] = array
    return buffer
