"""Pods in order, any of which can be taken out: a heap that passes over what was taken out when it comes to it."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

#: A heap of fewer entries is never cleaned up.
_FEW = 64


class OrderedKeys:
    """Keys, each with a place in the order; places are tuples that differ for different keys."""

    def __init__(self) -> None:
        self._places: dict[str, tuple[Any, ...]] = {}
        self._heap: list[tuple[tuple[Any, ...], str]] = []

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def put(self, key: str, place: tuple[Any, ...]) -> None:
        """Put a key in its place, also one that is elsewhere."""
        self._places[key] = place
        heappush(self._heap, (place, key))
        if len(self._heap) > max(_FEW, 2 * len(self._places)):
            self._heap = [(place, key) for key, place in self._places.items()]
            heapify(self._heap)

    def discard(self, key: str) -> None:
        """Take a key out, if it is there."""
        self._places.pop(key, None)

    def first(self) -> tuple[str, tuple[Any, ...]] | None:
        """The first key and its place; None where there is none."""
        while self._heap:
            place, key = self._heap[0]
            if self._places.get(key) == place:
                return key, place
            heappop(self._heap)
        return None
