"""Changes of one place of a document: another value, no value, a key twice, a list a thousand times over.

Which place and which change is drawn by hypothesis, so what fails is reduced to the fewest changes that still fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from fuzz.hostile_values import ANY_VALUE, Token, values_for, values_like

#: At the end of a key: the same key once more. Writers leave it out.
AGAIN = "\ue000"
_REPEATED, _LARGEST = (2, 50, 3000), 300_000
_WRAPPINGS: tuple[Callable[[Any], Any], ...] = (
    lambda value: [value],
    lambda value: {"a": value},
    lambda value: [[[value]]],
)

Document = Any
Draw = Callable[[st.SearchStrategy[Any]], Any]


def places(document: Document) -> list[tuple[Any, Any]]:
    """Every container below a document with each of its keys; outer ones come first."""
    found: list[tuple[Any, Any]] = []
    containers = [document]
    for container in containers:
        members = (
            container.items()
            if isinstance(container, dict)
            else enumerate(container)
            if isinstance(container, list)
            else ()
        )
        for key, member in members:
            found.append((container, key))
            if isinstance(member, dict | list):
                containers.append(member)
    return found


def copied(document: Document) -> Document:
    """The document anew, as deep as it is."""
    if isinstance(document, dict):
        return {key: copied(value) for key, value in document.items()}
    return [copied(each) for each in document] if isinstance(document, list) else document


@st.composite
def mutated(draw: Draw, document: Document) -> Document:
    """A copy of a document with one to three changes."""
    return changed(draw, document)


def changed(draw: Draw, document: Document, most: int = 3) -> Document:
    """A copy of a document with one to ``most`` changes; a strategy for each document would take longer than these."""
    copy = copied(document)
    for _ in range(draw(st.integers(1, most))):
        spots = places(copy)
        if not spots:
            return copied(draw(ANY_VALUE))
        container, key = spots[draw(st.integers(0, len(spots) - 1))]
        _CHANGES[draw(st.integers(0, len(_CHANGES) - 1))](draw, container, key, spots)
    return copy


def _replace(draw: Draw, container: Any, key: Any, _spots: Any) -> None:
    container[key] = copied(draw(values_for(key)))


def _replace_alike(draw: Draw, container: Any, key: Any, _spots: Any) -> None:
    container[key] = copied(draw(values_like(key, container[key])))


def _remove(_draw: Draw, container: Any, key: Any, _spots: Any) -> None:
    del container[key]


def _write_twice(draw: Draw, container: Any, key: Any, _spots: Any) -> None:
    if isinstance(container, dict):
        container[f"{key}{AGAIN}"] = copied(draw(st.just(container[key]) | values_for(key)))
    else:
        container.insert(key, copied(container[key]))


def _rename(draw: Draw, container: Any, key: Any, _spots: Any) -> None:
    if isinstance(container, dict):
        container[draw(_keys(key))] = container.pop(key)


def _add(draw: Draw, container: Any, key: Any, _spots: Any) -> None:
    if isinstance(container, dict):
        container[draw(_keys(key))] = copied(draw(ANY_VALUE))
    else:
        container.append(copied(draw(ANY_VALUE)))


def _wrap(draw: Draw, container: Any, key: Any, _spots: Any) -> None:
    value = container[key]
    container[key] = _WRAPPINGS[draw(st.integers(0, len(_WRAPPINGS) - 1))](value)


def _repeat(draw: Draw, container: Any, key: Any, _spots: Any) -> None:
    value = container[key]
    if not isinstance(value, list | str) or isinstance(value, Token):
        return
    # A large value a thousand times over takes the time of many small ones and shows no more.
    size = len(str(value))
    container[key] = value * draw(st.sampled_from([times for times in _REPEATED if times * size < _LARGEST] or [2]))


def _borrow(draw: Draw, container: Any, key: Any, spots: Any) -> None:
    other, place = spots[draw(st.integers(0, len(spots) - 1))]
    if place in other if isinstance(other, dict) else place < len(other):
        container[key] = copied(other[place])


def _stringify(_draw: Draw, container: Any, key: Any, _spots: Any) -> None:
    value = container[key]
    if isinstance(value, str) and not isinstance(value, Token):
        container[key] = Token(value)
    elif isinstance(value, int | float):
        container[key] = str(value)


def _keys(key: Any) -> st.SearchStrategy[str]:
    known = [
        str(key),
        str(key).upper(),
        str(key)[:-1],
        "",
        "kind",
        "metadata",
        "name",
        "args",
        "\x1b[1m",
        "K" * 5000,
        "<<",
    ]
    return st.sampled_from(known) | st.text(max_size=5)


#: Replacing is what finds most, so it is drawn most.
_CHANGES = (
    _replace_alike,
    _replace_alike,
    _replace_alike,
    _replace_alike,
    _replace_alike,
    _replace_alike,
    _replace,
    _replace,
    _replace,
    _replace,
    _remove,
    _write_twice,
    _rename,
    _add,
    _wrap,
    _repeat,
    _borrow,
    _stringify,
)
