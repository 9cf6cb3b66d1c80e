"""Whole objects of files, in every form in which people keep them."""

from __future__ import annotations

import json

import pytest
import yaml

from builders import a_list, a_node
from restow.errors import InputError
from restow.sources.reading import Sizes, read_manifests

A, B = a_node("a"), a_node("b")
ITEMS = [{key: value for key, value in each.items() if key not in ("kind", "apiVersion")} for each in (A, B)]

FORMS = [
    pytest.param(json.dumps(a_list(A, a_list(B))), id="nested-Lists"),
    pytest.param(json.dumps({"kind": "NodeList", "apiVersion": "v1", "items": ITEMS}), id="NodeList"),
    pytest.param(json.dumps(A) + json.dumps(B), id="concatenated-JSON"),
    pytest.param(yaml.safe_dump_all([A, B]), id="multi-document-YAML"),
]


@pytest.fixture
def read(tmp_path):
    def read(text):
        (tmp_path / "m.yaml").write_text(text)
        return read_manifests(str(tmp_path), Sizes())

    return read


@pytest.mark.parametrize("text", FORMS)
def test_the_same_objects_in_every_form(read, text):
    assert read(text) == [A, B]


@pytest.mark.parametrize("text", ["[1]", "- a", '{"a": 1} x', json.dumps(a_list(3))])
def test_what_holds_no_objects_is_refused(read, text):
    with pytest.raises(InputError, match=r"m\.yaml: "):
        read(text)
