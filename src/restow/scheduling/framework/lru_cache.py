"""A dictionary that remembers what was used last: what is kept for each class of pods must not grow with the classes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

#: Arrays over 5,000 nodes take 20 or 40 KB each, so this is some 100 MB at most.
CAPACITY = 2048


class LruCache(Generic[K, V]):
    """The values of the keys that were asked for last."""

    __slots__ = ("_capacity", "_values")

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._values: OrderedDict[K, V] = OrderedDict()
        self._capacity = capacity

    def __bool__(self) -> bool:
        return bool(self._values)

    def values(self) -> list[V]:
        """All cached values."""
        return list(self._values.values())

    def get(self, key: K) -> V | None:
        """The value of a key, if it is still there."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Keep a value; the one that was not asked for longest has to go where there is no room."""
        self._values[key] = value
        if len(self._values) > self._capacity:
            self._values.popitem(last=False)
