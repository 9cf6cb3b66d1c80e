"""Arrays that grow: a row more costs a fixed time on average, however many there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

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
