"""Plain data to structs: what fits, what is said of the rest, and what to do about it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from restow.documents.decoding import decode
from restow.documents.shapes import Duration, IntOrString, Uint
from restow.kube.objects import Int32


class Rule(Struct, frozen=True):
    query: str
    threshold: float = 0


class File(Struct, frozen=True, rename="camel"):
    name: str = ""
    is_on: bool = False
    share: float = 0
    workers: Int32 = 1
    most: Uint | None = None
    wait: Duration = 0
    surge: IntOrString = 0
    effect: Literal["label", "taint"] = "label"
    certainty: Literal["sure", "likely"] | float = "sure"
    words: list[str] = msgspec.field(default_factory=list)
    rules: dict[str, Rule] = msgspec.field(default_factory=dict)
    listed: tuple[Rule, ...] = ()
    surges: tuple[IntOrString, ...] = ()
    waits: dict[str, Duration] = msgspec.field(default_factory=dict)
    certainties: list[Literal["sure"] | float] = msgspec.field(default_factory=list)
    anything: Any = None


def told(data: Any) -> list[tuple[tuple[str | int, ...], str, str]]:
    return [(issue.path, issue.message, issue.hint) for issue in decode(data, File, ()).strictly()]


def test_what_fits_is_read():
    data = {"isOn": True, "share": 1, "wait": "2m", "surge": "25%", "certainty": 0.5, "rules": {"a": {"query": "up"}}}

    value = decode(data, File, ()).value

    assert value == File(
        is_on=True, share=1.0, wait=120 * 10**9, surge="25%", certainty=0.5, rules={"a": Rule(query="up")}
    )


@pytest.mark.parametrize(
    ("data", "message", "hint"),
    [
        pytest.param({"name": 5}, "must be text, not a number", "put it in quotes", id="number for text"),
        pytest.param({"name": False}, "must be text, not true or false", "put it in quotes", id="boolean for text"),
        pytest.param({"name": []}, "must be text, not a list", "", id="list for text"),
        pytest.param({"words": [{"name": "a"}]}, "must be text, not a mapping", "write - a", id="named mapping for text"),
        pytest.param({"workers": "2"}, "must be a whole number, not text", "remove the quotes", id="quoted number"),
        pytest.param({"workers": "two"}, "must be a whole number, not text", "", id="text for a number"),
        pytest.param({"workers": 1.5}, "must be a whole number, not a fraction", "", id="fraction"),
        pytest.param({"workers": True}, "must be a whole number, not true or false", "", id="boolean for a number"),
        pytest.param({"workers": 2**31}, "must be at most 2147483647", "", id="too large"),
        pytest.param({"most": -1}, "must be at least 0", "", id="negative"),
        pytest.param({"share": "0.5"}, "must be a number, not text", "remove the quotes", id="quoted fraction"),
        pytest.param({"isOn": "yes"}, "must be true or false, not text", "remove the quotes", id="quoted boolean"),
        pytest.param({"isOn": 1}, "must be true or false, not a number", "", id="number for a boolean"),
        pytest.param({"wait": 5}, "must be a duration such as 1h30m, not a number", "", id="number for a duration"),
        pytest.param(
            {"wait": "5x"}, 'must be a duration such as 1h30m (time: unknown unit "x" in duration "5x")', "", id="unit"
        ),
        pytest.param({"surge": 1.5}, "must be a whole number, or text such as 25%, not a fraction", "", id="neither"),
        pytest.param({"effect": "tant"}, "must be label or taint, not 'tant'", 'did you mean "taint"?', id="choice"),
        pytest.param({"effect": 1}, "must be label or taint, not 1", "", id="number for a choice"),
        pytest.param({"certainty": "sur"}, "must be likely or sure or a number, not 'sur'", 'did you mean "sure"?', id="-"),
        pytest.param({"words": "a"}, "must be a list, not text", "", id="text for a list"),
        pytest.param({"rules": []}, "must be a mapping, not a list", "", id="list for a mapping"),
        pytest.param({"rules": {"a": {}}}, "has no query", "add it", id="missing"),
        pytest.param({"listed": [None]}, "has no query", "add it", id="missing in null"),
        pytest.param({"isOm": 1}, 'unknown field "isOm"', 'did you mean "isOn"?', id="unknown"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_with_what_to_do(data, message, hint):
    (found,) = told(data)
    assert found[1:] == (message, hint)


def test_the_whole_must_be_a_mapping():
    assert told("x") == [((), "must be a mapping, not text", "")]


def test_every_problem_is_told_with_its_place():
    assert [path for path, _, _ in told({"x": 1, "name": 5, "rules": {"a": {"query": 5}}, "words": ["a", 5]})] == [
        ("x",),
        ("name",),
        ("rules", "a", "query"),
        ("words", 1),
    ]


def test_null_is_as_good_as_nothing_and_zero_where_something_must_stand():
    assert decode({"name": None, "most": None}, File, ()).value == File()
    assert decode({"words": [None]}, File, ()).value == File(words=[""])


def test_other_programs_may_be_quoted():
    decoded = decode({"words": [5]}, File, (), lambda shape, data, place: f"{data} at {place.path}, {place.fields}")
    assert decoded.errors[0].message == "must be text, not a number (5 at ('words', 0), ('words',))"


def test_a_null_in_a_list_of_choices_is_none_of_them():
    class Chosen(Struct):
        words: tuple[Literal["a", "b"], ...] = ()

    (error,) = decode({"words": ["a", None]}, Chosen, ()).errors
    assert (error.path, error.message) == (("words", 1), "must be a or b, not None")


_FIELDS = st.sampled_from([*(each.encode_name for each in msgspec.structs.fields(File)), "query", "threshold", "x"])
_LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["", "1m", "sure", "5"])
)
_ANYTHING = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_FIELDS, inner, max_size=4), max_leaves=12
)


@settings(max_examples=400)
@given(
    st.dictionaries(_FIELDS, st.lists(_LEAVES, max_size=2) | st.dictionaries(_FIELDS, _LEAVES, max_size=2) | _LEAVES)
    | _ANYTHING
)
@example({"surges": [None], "certainties": [None], "waits": {"x": None}, "rules": {"x": None}})
@example({"surges": [None], "words": [None], "listed": [], "waits": {"x": None}})
def test_whatever_is_written_there_is_a_value_or_an_error(data):
    decoded = decode(data, File, ())
    assert (decoded.value is None) == bool(decoded.errors)
