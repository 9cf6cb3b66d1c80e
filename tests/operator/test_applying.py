"""What counts as a difference between an object that is there and the one that is wanted."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Object
from restow.operator.applying import MANAGER, covers, with_hash, without_additions


@pytest.mark.parametrize(
    ("live", "wanted", "is_so"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, True, id="defaults are no difference"),
        pytest.param({"a": 1}, {"a": 2}, False, id="another value"),
        pytest.param({}, {"a": None}, False, id="missing"),
        pytest.param({"a": [{"n": 1, "d": 2}]}, {"a": [{"n": 1}]}, True, id="defaults in items"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, False, id="one item more"),
        pytest.param({"a": [2, 1]}, {"a": [1, 2]}, False, id="another order"),
        pytest.param({"a": "x"}, {"a": {"b": 1}}, False, id="another type"),
    ],
)
def test_an_object_is_as_it_should_be_if_it_has_all_that_is_wanted(live: Any, wanted: Any, is_so: bool) -> None:
    assert covers(live, wanted) is is_so


def test_a_field_that_is_wanted_no_more_makes_a_difference() -> None:
    before = with_hash({"metadata": {"name": "x"}, "spec": {"a": 1, "b": 2}})
    assert not covers(before, with_hash({"metadata": {"name": "x"}, "spec": {"a": 1}}))


def live(spec: Object, ours: Object, theirs: Object, **entry: str) -> Object:
    fields = [
        {"manager": MANAGER, "operation": "Apply", "fieldsV1": {"f:spec": ours}},
        {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": {"f:spec": theirs}, **entry},
    ]
    return {"metadata": {"managedFields": fields}, "spec": spec}


NAMED = 'k:{"name":"restow"}'
OTHER = 'k:{"name":"other"}'


@pytest.mark.parametrize(
    ("spec", "ours", "theirs", "left"),
    [
        pytest.param({"a": 1, "b": 2}, {"f:a": {}}, {"f:b": {}}, {"a": 1}, id="a field of theirs"),
        pytest.param({"a": 1, "d": 3}, {"f:a": {}}, {}, {"a": 1, "d": 3}, id="a default"),
        pytest.param({"a": 1}, {"f:a": {}}, {"f:a": {}}, {"a": 1}, id="a field of both"),
        pytest.param(
            {"t": {"a": 1, "b": 2}}, {"f:t": {"f:a": {}}}, {"f:t": {"f:b": {}}}, {"t": {"a": 1}}, id="a field within"
        ),
        pytest.param(
            {"c": [{"name": "restow", "env": [1]}, {"name": "other"}]},
            {"f:c": {NAMED: {".": {}, "f:name": {}}}},
            {"f:c": {NAMED: {"f:env": {}}, OTHER: {".": {}, "f:name": {}}}},
            {"c": [{"name": "restow"}]},
            id="items by key",
        ),
        pytest.param(
            {"c": ["x", "y"]}, {"f:c": {'v:"x"': {}}}, {"f:c": {'v:"y"': {}}}, {"c": ["x"]}, id="items by value"
        ),
    ],
)
def test_what_others_have_added_is_left_out(spec: Object, ours: Object, theirs: Object, left: Object) -> None:
    thing = live(spec, ours, theirs)
    assert without_additions(thing, {"spec": {}})["spec"] == left


def test_what_is_not_wanted_at_all_and_a_status_are_theirs() -> None:
    thing = live({"a": 1}, {}, {"f:a": {}})
    assert without_additions(thing, {"metadata": {}}) == thing
    thing = live({"a": 1}, {}, {"f:a": {}}, subresource="status")
    assert without_additions(thing, {"spec": {}}) == thing
