"""Columns whose values many pods share: small integers, and a table of what they stand for."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import IdArray, Interner, by_appearance
from restow.cluster.pod_parts import PartError
from restow.cluster.pod_reading import title_of
from restow.errors import InputError
from restow.kube.objects import Pod


class Names(dict[str, int]):
    """Numbers of names, handed out when they are asked for; that of no name is 0."""

    def __init__(self) -> None:
        self[""] = 0
        self.known = [""]

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self.known)
        self.known.append(name)
        return number


class SharedColumn:
    """One identifier column and the table of its distinct values."""

    def __init__(self, decode: Callable[[Any], Any]) -> None:
        self._decode = decode
        self._interner: Interner[Any] = Interner()
        self.ids = array("i")
        self.values: list[Any] = []
        #: The identifiers that were asked for last, and what was made of them.
        self._cached: tuple[IdArray, tuple[IdArray, list[Any]]] | None = None

    def identify(self, keys: Sequence[Any], pods: Sequence[Pod]) -> list[int]:
        """The identifiers of keys; a key that cannot be decoded is forgotten again."""
        try:
            ids = self._interner.ids(keys)
            if len(self._interner) > len(self.values):
                for position, identifier in enumerate(ids):
                    if identifier == len(self.values):
                        self.values.append(self._value(keys[position], pods[position]))
        finally:
            self._interner.forget_after(len(self.values))
        return ids

    def keys(self) -> list[Any]:
        """The key of each identifier."""
        return self._interner.keys()

    def absorb(self, keys: Sequence[Any], ids: array[int]) -> None:
        """Add rows whose identifiers stand for these keys, all of which can be decoded."""
        numbers = self._interner.ids(keys)
        self.values += [
            self._decode(key) for key, number in zip(keys, numbers, strict=True) if number >= len(self.values)
        ]
        self.ids.frombytes(np.array(numbers, dtype=np.int32)[np.array(ids, dtype=np.int32)].tobytes())

    def keep(self, order: npt.NDArray[np.int64]) -> None:
        """Keep these rows, in this order, and only what they need of the table."""
        ids, kept = by_appearance(np.array(self.ids, dtype=np.int32)[order])
        keys = self._interner.keys()
        self._interner = Interner()
        self._interner.ids(keys[old] for old in kept)
        self.ids = array("i", ids.tobytes())
        self.values = [self.values[old] for old in kept]
        self._cached = None

    def column(self, order: npt.NDArray[np.int64]) -> tuple[IdArray, list[Any]]:
        """The column with its rows in this order, and its table; the input's order leaves no trace in either."""
        given = np.array(self.ids, dtype=np.int32)[order]
        if self._cached is None or not np.array_equal(self._cached[0], given):
            ids, kept = by_appearance(given)
            self._cached = given, (ids, [self.values[old] for old in kept])
        return self._cached[1]

    def _value(self, key: Any, pod: Pod) -> Any:
        try:
            return self._decode(key)
        except PartError as error:
            raise InputError(f"{title_of(pod)}: {error}") from error
