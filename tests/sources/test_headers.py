"""What an item says of itself, however its fields are ordered and indented."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.sources.headers import Header, HeaderReader

POD = Header("Pod", "v1")
LONG = "x" * 500


def header(item, **layout):
    return HeaderReader().read(msgspec.Raw(json.dumps(item, **layout).encode()))


@pytest.mark.parametrize(
    "item",
    [
        pytest.param({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, id="usual"),
        pytest.param({"kind": "Pod", "metadata": {"name": "a"}, "apiVersion": "v1"}, id="version last"),
        pytest.param({"metadata": {"name": "a"}, "spec": {}, "kind": "Pod", "apiVersion": "v1"}, id="metadata first"),
        pytest.param({"data": {"metadata": {}}, "kind": "Pod", "apiVersion": "v1"}, id="other metadata"),
        pytest.param({"data": {"metadata": 1, "kind": "Other"}, "kind": "Pod", "apiVersion": "v1"}, id="other kind"),
        pytest.param({"data": '"metadata"', "kind": "Pod", "apiVersion": "v1", "metadata": {}}, id="quoted"),
        pytest.param({"data": LONG, "kind": "Pod", "apiVersion": "v1", "metadata": {}}, id="far behind"),
        pytest.param({"apiVersion": "v1", "kind": "Pod"}, id="no metadata"),
    ],
)
@pytest.mark.parametrize("indent", [None, 4])
def test_kind_and_version_are_found(item, indent):
    assert header(item, indent=indent) == POD


@pytest.mark.parametrize(
    ("item", "found"),
    [
        pytest.param({"metadata": {"name": "a"}}, Header(), id="neither"),
        pytest.param({"kind": "Pod", "metadata": {}}, Header("Pod"), id="kind alone"),
        pytest.param({"apiVersion": "v1", "metadata": {}}, Header(None, "v1"), id="version alone"),
        pytest.param({"apiVersion": "v1", "kind": None, "metadata": {}}, Header(None, "v1"), id="null"),
    ],
)
def test_what_is_missing_stays_missing(item, found):
    assert header(item) == found


@pytest.mark.parametrize(
    "item", [pytest.param({"apiVersion": "v1", "kind": 1, "metadata": {}}, id="kind"), pytest.param([1], id="list")]
)
def test_a_wrong_type_is_an_error(item):
    with pytest.raises(msgspec.ValidationError):
        header(item)


FIELDS = st.dictionaries(
    st.sampled_from(["apiVersion", "kind", "metadata", "data", "spec"]),
    st.sampled_from(["v1", "Pod", "metadata", "kind"]),
)


@given(st.lists(FIELDS, max_size=5))
def test_one_item_tells_nothing_of_another(items):
    """A reader that has seen other items says of each what a fresh one says of it."""
    reader = HeaderReader()
    for item in items:
        assert reader.read(msgspec.Raw(json.dumps(item).encode())) == Header(item.get("kind"), item.get("apiVersion"))
