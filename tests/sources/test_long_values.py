"""A value of 5,000 characters, anywhere in a dump: read or refused, and never the whole value in what is said."""

from __future__ import annotations

import json

import pytest

from builders import Owner, a_node, a_pdb, a_pod
from builders.long_values import LONG_VALUES, quotes_too_much, with_long_values
from restow.errors import InputError
from restow.sources.documents import load_cluster

_POD = a_pod("web-0", node="n1", owner=Owner("ReplicaSet", "web"), cpu="100m")
DUMP = {"kind": "List", "apiVersion": "v1", "items": [a_node("n1"), _POD, a_pdb("web", selector={"app": "web"})]}


@pytest.mark.parametrize("kind", LONG_VALUES)
def test_a_message_quotes_at_most_200_characters_of_a_value(tmp_path, kind):
    dump = tmp_path / "dump.json"
    for changed in with_long_values(DUMP, LONG_VALUES[kind]):
        dump.write_text(json.dumps(changed))
        try:
            said = load_cluster([str(dump)])[1].notes()
        except InputError as error:
            said = (str(error),)
        assert [each[:300] for each in said if quotes_too_much(each)] == []
