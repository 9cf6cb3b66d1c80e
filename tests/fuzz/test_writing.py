"""Documents are written as they were meant: tokens without quotes, keys as often as they were added."""

from __future__ import annotations

import json

import pytest

from fuzz.hostile_values import Token
from fuzz.mutations import AGAIN
from fuzz.writing import block, written


@pytest.mark.parametrize("text", ["1e400", "-0", "[" * 50, '"\\ud800"', '"\\q"', '"unfinished', "{<<: *nobody}", "\\"])
def test_a_token_stands_in_json_as_it_is(text: str) -> None:
    assert written({"a": [Token(text)]}) == f'{{"a": [{text}]}}'
    assert block({"a": [Token(text)]}) == f'{{"a": [{text}]}}'


def test_a_key_may_be_written_twice() -> None:
    assert written({"a": 1, f"a{AGAIN}": 2}) == '{"a": 1, "a": 2}'


@pytest.mark.parametrize("value", ["", '"', "\\", "\x1b[1m", "\ud800", "é", None, 1.5, [[{}]]], ids=repr)
def test_all_else_is_ordinary_json(value: object) -> None:
    assert json.loads(written({"a": value})) == {"a": value}
