"""Keys in canonical order with the row of each, while keys come, change and go.

A set of keys that is sorted anew costs as much as there are keys. Here that is so once; from then on a key that was
touched costs a binary search and a move of memory.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

import numpy as np

from restow.cluster.interning import IntArray

#: (namespace, name).
Key = tuple[str, str]
#: Of how many keys one may have been touched; where there are more, all are sorted.
_SHARE = 8


class KeyOrder:
    """The keys of a mapping to rows, by namespace and name, and what some columns have in these rows.

    Mapping and columns belong to somebody else, who tells what he changes.
    """

    def __init__(self, row_of: Mapping[Key, int], columns: Mapping[str, list[Any]]) -> None:
        self._keys: list[Key] = []
        self._rows = array("q")
        self._touched: set[Key] = set()
        self.renumber(row_of, columns)

    def touch(self, key: Key) -> None:
        """A key has come, has another row, or is gone."""
        if self._in_order is not None:
            self._touched.add(key)

    def renumber(self, row_of: Mapping[Key, int], columns: Mapping[str, list[Any]]) -> None:
        """All rows have changed."""
        self._row_of, self._columns = row_of, columns
        self._in_order: dict[str, list[Any]] | None = None

    def rows(self) -> IntArray:
        """The rows of all keys in order."""
        self._catch_up()
        return np.array(self._rows, dtype=np.int64)

    def column(self, name: str) -> list[Any]:
        """What a column has for all keys, in their order."""
        return list(self._catch_up()[name])

    def _catch_up(self) -> dict[str, list[Any]]:
        if self._in_order is None or len(self._touched) * _SHARE > len(self._keys):
            self._keys = sorted(self._row_of)
            self._rows = array("q", map(self._row_of.__getitem__, self._keys))
            self._in_order = {name: list(map(column.__getitem__, self._rows)) for name, column in self._columns.items()}
        else:
            for key in self._touched:
                self._place(key, self._in_order)
        self._touched.clear()
        return self._in_order

    def _place(self, key: Key, in_order: Mapping[str, list[Any]]) -> None:
        position, row = bisect_left(self._keys, key), self._row_of.get(key)
        is_known = position < len(self._keys) and self._keys[position] == key
        replaced = slice(position, position + is_known)
        self._keys[replaced] = [key] if row is not None else []
        self._rows[replaced] = array("q", [row] if row is not None else [])
        for name, ordered in in_order.items():
            ordered[replaced] = [self._columns[name][row]] if row is not None else []
