"""Documents in which one value, or one key, is as long as nobody expects."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

#: More digits than Python makes a number of.
LENGTH = 5000
#: What a long value looks like; each is a run of "7", by which it is known in a message.
LONG_VALUES: dict[str, Any] = {
    "digits": "7" * LENGTH,
    "percentage": "7" * LENGTH + "%",
    "duration": "7" * LENGTH + "h",
    "exponent": "1e" + "7" * LENGTH,
    "negative": "-" + "7" * LENGTH,
    "cron": f"{'7' * LENGTH} * * * *",
    "list": ["7" * LENGTH],
    "mapping": {"7" * LENGTH: "7" * LENGTH},
}
_RUN = re.compile("7{201,}")


def with_long_values(document: Any, value: Any) -> Iterator[Any]:
    """Yield copies of a document, in each of which another value is the given one, or a key is a long word."""
    for path in _paths(document):
        yield _changed(document, path, lambda place, step: place.__setitem__(step, value))
        if isinstance(path[-1], str):
            yield _changed(document, path, lambda place, step: place.__setitem__("7" * LENGTH, place.pop(step)))


def quotes_too_much(message: str) -> bool:
    """Whether a message shows more than 200 characters of a long value."""
    return _RUN.search(message) is not None


def _paths(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    steps = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, value in steps:
        yield (*path, step)
        yield from _paths(value, (*path, step))


def _changed(document: Any, path: tuple[str | int, ...], change: Any) -> Any:
    result = copy.deepcopy(document)
    place = result
    for step in path[:-1]:
        place = place[step]
    change(place, path[-1])
    return result
