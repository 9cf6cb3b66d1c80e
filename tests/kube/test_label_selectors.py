"""Label selectors of API objects: what they match and how bad ones are answered."""

from __future__ import annotations

import msgspec
import pytest

from builders.affinity import selector
from restow.kube.labels import EVERYTHING, NOTHING, Requirement, Selector, selector_from, selector_of_labels
from restow.kube.objects import LabelSelector, LabelSelectorRequirement

NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def compiled(*requirements, labels=None) -> Selector:
    return selector_from(msgspec.convert(selector(*requirements, labels=labels), LabelSelector))


@pytest.mark.parametrize("labels", [{}, {"a": "b"}], ids=["no-labels", "labels"])
def test_absent_matches_nothing_and_empty_everything(labels):
    assert selector_from(None) is NOTHING
    assert selector_from(LabelSelector()) == EVERYTHING
    assert not NOTHING.matches(labels)
    assert EVERYTHING.matches(labels)


@pytest.mark.parametrize(
    ("requirement", "absent", "same", "other"),
    [
        (("app", "In", "web", "api"), False, True, False),
        (("app", "NotIn", "web", "api"), True, False, True),
        (("app", "Exists"), False, True, True),
        (("app", "DoesNotExist"), True, False, False),
    ],
    ids=["In", "NotIn", "Exists", "DoesNotExist"],
)
def test_operators(requirement, absent, same, other):
    """Absent, equal and different label: only the negative operators hold when the key is absent."""
    answers = [compiled(requirement).matches(labels) for labels in ({}, {"app": "web"}, {"app": "db"})]

    assert answers == [absent, same, other]


def test_labels_and_expressions_must_all_hold():
    both = compiled(("tier", "In", "front"), labels={"app": "web"})

    assert both.matches({"app": "web", "tier": "front"})
    assert not both.matches({"app": "web"})
    assert not both.matches({"tier": "front"})


@pytest.mark.parametrize(
    ("case", "labels", "matches"),
    [("PH-02", {}, False), ("PH-02", {"foo": "bar"}, True), ("PH-02", {"foo": "bar1"}, True)],
)
def test_pods_listed_by_a_selector(case, labels, matches):
    assert compiled(("foo", "In", "bar", "bar1")).matches(labels) is matches


@pytest.mark.parametrize("operator", ["Foo", "in", "Gt", "", 'a"b'])
def test_operators_of_other_selectors_are_refused(operator):
    wrong = LabelSelector(match_expressions=(LabelSelectorRequirement("a", operator, ("1",)),))
    shown = operator.replace('"', '\\"')

    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        selector_from(wrong)

    assert str(caught.value) == f'"{shown}" is not a valid label selector operator'


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (("a", "In"), "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"),
        (("a", "NotIn"), "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"),
        (
            ("a", "Exists", "b", "c<d"),
            (
                '[values: Invalid value: ["b","c\\u003cd"]: values set must be empty for exists and does not exist, '
                f'values[1][a]: Invalid value: "c<d": {VALUE_RULE}]'
            ),
        ),
        (("", "Exists"), f'key: Invalid value: "": name part must be non-empty; name part {NAME_RULE}'),
        (("-", "Exists"), f'key: Invalid value: "-": name part {NAME_RULE}'),
        (
            ("x/" + "k" * 64, "Exists"),
            f'key: Invalid value: "x/{"k" * 64}": name part must be no more than 63 bytes',
        ),
        (("/y", "Exists"), 'key: Invalid value: "/y": prefix part must be non-empty'),
        (("X/y", "Exists"), f'key: Invalid value: "X/y": prefix part {SUBDOMAIN_RULE}'),
        (
            ("a/b/c", "Exists"),
            (
                f'key: Invalid value: "a/b/c": a valid label key {NAME_RULE} with an optional DNS subdomain prefix and '
                "'/' (e.g. 'example.com/MyName')"
            ),
        ),
        (("a", "In", "ok", "\u00e9 "), f'values[1][a]: Invalid value: "\u00e9 ": {VALUE_RULE}'),
        (
            ("a", "In", "v" * 64),
            f'values[0][a]: Invalid value: "{"v" * 64}": must be no more than 63 bytes',
        ),
    ],
)
def test_bad_requirements_are_answered_with_the_words_of_apimachinery(parts, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        compiled(parts)

    assert str(caught.value) == message


def test_the_first_bad_label_by_key_is_reported():
    with pytest.raises(ValueError, match=r'^key: Invalid value: "b b"'):
        compiled(labels={"c c": "1", "b b": "1", "a": "1"})


def test_equal_selectors_can_be_one_key_of_a_cache():
    one = compiled(("b", "Exists"), ("a", "In", "1"))
    other = compiled(("a", "In", "1"), ("b", "Exists"))

    assert {one: 1}[other] == 1
    assert one.requirements == (Requirement("a", "In", ("1",)), Requirement("b", "Exists"))
    assert one.keys() == {"a", "b"}


def test_a_plain_map_selects_equal_labels_and_none_selects_everything():
    assert selector_of_labels({"a": "1"}).matches({"a": "1", "b": "2"})
    assert not selector_of_labels({"a": "1"}).matches({"a": "2"})
    assert selector_of_labels(None) == selector_of_labels({}) == EVERYTHING
