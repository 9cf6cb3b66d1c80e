"""A text or number of 100,000 characters in any field of any object: a pod is left out at most, and messages stay short.

Every place of a cluster that has every field set (``fuzz.furnished``) gets one, one place at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from builders import Object, a_list, a_node, a_pod
from fuzz.furnished import furnished_objects
from restow.errors import InputError
from sources.dumps import with_field

LONG = 100_000
VALUES = {"letters": json.dumps("x" * LONG), "digits": json.dumps("9" * LONG), "number": "9" * LONG}
GOOD = [a_node("good"), a_pod("good", node="good")]
#: Characters of all messages about one object together.
MOST = 1_000
#: One object of each kind; the pod has everything that a pod can have.
OBJECTS = {each["kind"]: each for each in furnished_objects()} | {
    "Pod": next(each for each in furnished_objects() if each["metadata"]["name"] == "hungry")
}


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of everything inside."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield (*path, key)
        yield from places(each, (*path, key))


def with_text(item: Object, path: tuple[str | int, ...], value: str) -> bytes:
    """The object in a list with what is good, and a value in one place that is written as it is."""
    text = json.dumps(a_list(*GOOD, with_field(item, path, "VALUE")))
    return text.replace('"VALUE"', value).encode()


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *(pytest.param("Pod", value, id=f"Pod-{name}") for name, value in VALUES.items()),
        *(pytest.param(kind, VALUES["letters"], id=kind) for kind in OBJECTS if kind != "Pod"),
    ],
)
def test_a_long_value_anywhere(load: Any, kind: str, value: str) -> None:
    """Of a pod any but its kind, its version and what names it; other objects may be errors of the file."""
    for path in places(OBJECTS[kind]):
        said = _said(load, with_text(OBJECTS[kind], path, value))
        if isinstance(said, InputError):
            assert kind != "Pod" or path[0] in ("apiVersion", "kind", "metadata"), f"{path}: {str(said)[:MOST]}"
        assert len(str(said)) < MOST + len(str(load.folder)), path


def _said(load: Any, content: bytes) -> str | InputError:
    """The notes of a load, or its error; with the one, what is good is there."""
    try:
        cluster = load(content)
    except InputError as error:
        return error
    assert "good" in cluster.pods.names
    return "\n".join(load.report.notes())
