"""Label selectors written as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.kube.labels import EVERYTHING, Requirement, parse_selector


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("", []),
        ("  ", []),
        ("a", [Requirement("a", "Exists")]),
        ("!a", [Requirement("a", "DoesNotExist")]),
        ("a=b", [Requirement("a", "In", ("b",))]),
        ("a == b", [Requirement("a", "In", ("b",))]),
        ("a=", [Requirement("a", "In", ("",))]),
        ("a!=b", [Requirement("a", "NotIn", ("b",))]),
        ("a>1", [Requirement("a", "Gt", ("1",))]),
        ("a < 10", [Requirement("a", "Lt", ("10",))]),
        ("a in (c,b,c)", [Requirement("a", "In", ("b", "c"))]),
        ("a notin ()", [Requirement("a", "NotIn", ("",))]),
        ("a in (,b)", [Requirement("a", "In", ("", "b"))]),
        ("a in (b,,c)", [Requirement("a", "In", ("", "b", "c"))]),
        ("a in (in,notin)", [Requirement("a", "In", ("in", "notin"))]),
        ("in in (x)", [Requirement("in", "In", ("x",))]),
        (
            "c in (d,e),a=b,!f",
            [Requirement("a", "In", ("b",)), Requirement("c", "In", ("d", "e")), Requirement("f", "DoesNotExist")],
        ),
        ("x.io/y\n=\tb", [Requirement("x.io/y", "In", ("b",))]),
    ],
)
def test_reads_label_selectors_sorted_by_key(text, requirements):
    assert list(parse_selector(text).requirements) == requirements


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=!", "unable to parse requirement: found '!', expected: identifier"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("=", "found '=', expected: !, identifier, or 'end of string'"),
        (
            "a>b",
            (
                'unable to parse requirement: values[0]: Invalid value: "b": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            ),
        ),
        (
            "-a=b",
            (
                'unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of alphanumeric '
                "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
                "'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
            ),
        ),
    ],
)
def test_bad_label_selectors_are_answered_with_the_words_of_apimachinery(text, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        parse_selector(text)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "value", "matches"),
    [
        ("a>1", "2", True),
        ("a>1", "1", False),
        ("a<1", "0", True),
        ("a<1", "-5", True),
        ("a>1", "two", False),
        ("a>1", None, False),
        ("a>1", "9223372036854775808", False),
    ],
)
def test_comparisons_need_int64_on_both_sides(text, value, matches):
    labels = {} if value is None else {"a": value}

    assert parse_selector(text).matches(labels) is matches


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("b , a == c", "a=c,b"),
        ("a in (b)", "a=b"),
        ("a notin (b)", "a!=b"),
        ("a in (c,b)", "a in (b,c)"),
        ("!a", "!a"),
        ("a > 1", "a>1"),
    ],
)
def test_label_selectors_print_in_one_way(text, printed):
    assert str(parse_selector(text)) == printed


words = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,5}[A-Za-z0-9])?", fullmatch=True)
values = words | st.just("")
numbers = st.integers(0, 2**63 - 1).map(str)  # a minus sign is no start of a label value
requirements = st.one_of(
    st.builds(Requirement, words, st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(Requirement, words, st.sampled_from(["Gt", "Lt"]), st.tuples(numbers)),
    st.builds(
        Requirement,
        words,
        st.sampled_from(["In", "NotIn"]),
        st.sets(values, min_size=1, max_size=3).map(lambda chosen: tuple(sorted(chosen))),
    ),
)


@given(st.lists(requirements, max_size=4))
def test_what_a_label_selector_prints_reads_back(conditions):
    text = ",".join(map(str, conditions))

    selector = parse_selector(text)

    assert sorted(map(repr, selector.requirements)) == sorted(map(repr, conditions))
    assert parse_selector(str(selector)) == selector
    assert (selector == EVERYTHING) == (not conditions)


@given(st.text(alphabet="ab=!(),<> in", max_size=12))
def test_any_text_is_read_or_refused(text):
    try:
        selector = parse_selector(text)
    except ValueError:
        return
    assert parse_selector(str(selector)) == selector
