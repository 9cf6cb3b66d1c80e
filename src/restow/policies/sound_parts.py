"""The parts of a document that can be decoded.

They are examined even if other values are wrong, so that people learn of all problems at once.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from restow.documents.findings import Path

#: Where the index of a profile stands in a path, the only list of which other items are examined.
_PROFILE_AT = 1


def sound_parts(data: dict[str, Any], faults: Iterable[Path]) -> dict[str, Any]:
    """Return a copy of a document without the keys at whose values, or inside whose lists, there is a fault."""
    sound = deepcopy(data)
    for path in faults:
        _remove(sound, _key_around(path))
    return sound


def _key_around(path: Path) -> Path:
    """Return the path of the key to remove: a whole list for one of its items, so that the others keep their places."""
    in_profile = path[:1] == ("profiles",) and len(path) > _PROFILE_AT + 1
    start = _PROFILE_AT + 1 if in_profile else 0
    for at in range(start, len(path)):
        if isinstance(path[at], int):
            return path[:at]
    return path


def _remove(data: Any, path: Path) -> None:
    for step in path[:-1]:
        if isinstance(data, dict) and step not in data:
            return  # what is around it is gone already
        data = data[step]
    data.pop(path[-1], None)
