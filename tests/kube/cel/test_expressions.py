"""Expressions of selectors: what they give, where they have no value, and what is not known here."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from restow.kube.cel import EvaluationError, UnsupportedError, compile_expression
from restow.kube.cel.evaluation import LONGEST_TEXT
from restow.kube.cel.values import WithDefault, parse_version
from restow.kube.quantity import parse_quantity

GPU = {
    "model": "a100",
    "index": 3,
    "healthy": True,
    "firmware": parse_version("1.10.0-rc.1"),
}
DEVICE = {
    "driver": "gpu.example.com",
    "allowMultipleAllocations": False,
    "attributes": WithDefault({"gpu.example.com": GPU}),
    "capacity": WithDefault({"gpu.example.com": {"memory": parse_quantity("40Gi")}}),
}


def value(text: str) -> Any:
    short = text.replace("$A", 'device.attributes["gpu.example.com"]').replace(
        "$C", 'device.capacity["gpu.example.com"]'
    )
    return compile_expression(short).evaluate({"device": DEVICE})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('device.driver == "gpu.example.com"', True),
        ('$A.model == "a100" && $A.index >= 2', True),
        ("$A.healthy ? $A.index : 0", 3),
        ('$C.memory.compareTo(quantity("40Gi"))', 0),
        ('$C.memory.isGreaterThan(quantity("39.5Gi"))', True),
        ('$C.memory.sub(quantity("1Gi")).isLessThan($C.memory)', True),
        ('quantity("2Ki").asInteger()', 2048),
        ('$A.firmware.isLessThan(semver("1.10.0"))', True),
        ('$A.firmware.isGreaterThan(semver("1.9.9"))', True),
        ("$A.firmware.minor()", 10),
        ('semver("1.0.0+a") == semver("1.0.0+b")', True),
        ('$A.model in ["t4", "a100"]', True),
        ('$A.model.matches("^a[0-9]+$")', True),
        ('$A.model.startsWith("a") && !$A.model.endsWith("x")', True),
        ('$A.model.upperAscii().replace("A", "H")', "H100"),
        ('"a-b".split("-").size()', 2),
        ('has(device.attributes["other.example.com"].model)', False),
        ('"other.example.com" in device.attributes', False),
        ('$A.?model.orValue("none")', "a100"),
        ('$A.?nothing.orValue("none")', "none"),
        ("$A.?nothing.hasValue()", False),
        ('$A[?"nothing"].orValue(1)', 1),
        ("cel.bind(own, $A, own.healthy && own.index > 2)", True),
        ("[1, 2, 3].filter(each, each != 2).map(each, each * 2)", [2, 6]),
        ("[1, 2].all(each, each > 0) && [1, 2].exists(each, each > 1)", True),
        ("[1, 1].exists_one(each, each == 1)", False),
        ('{"a": 1, "b": 2}.exists(key, key == "b")', True),
        ("sets.contains([1, 2, 3], [2, 1])", True),
        ("sets.intersects([1], [2]) || sets.equivalent([1, 1], [1])", True),
        ("[3, 1, 2].max() - [3, 1, 2].min()", 2),
        ("7 / -2 * 2 + 7 % -2", -5),
        ("1 == 1.0 && 1 < 1.5 && true != false", True),
        ('1 == "1"', False),
        ("-(-3)", 3),
        ("0x1F + 1", 32),
        (r'"\x41\u0042\103" + r"\n"', r"ABC\n"),
        ("'''it's'''", "it's"),
        ("true || 1 / 0 == 1", True),
        ("1 / 0 == 1 || true", True),
        ("1 / 0 == 1 && false", False),
        ('int("12") + int(2.9)', 14),
        ("string(12) + string(true)", "12true"),
    ],
)
def test_expressions_have_the_values_of_cel(text: str, expected: object) -> None:
    assert value(text) == expected
    assert type(value(text)) is type(expected)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("$A.nothing == 1", "no such key: nothing"),
        ('device.attributes["other"].model', "no such key: model"),
        ("1 / 0", "division by zero"),
        ("9223372036854775807 + 1", "integer overflow"),
        ('1 + "a"', "no such overload"),
        ("[1][1]", "index out of bounds: 1"),
        ("1 < true", "no such overload"),
        ("$A.index.startsWith('a')", "no such overload"),
        ("$A.model ? 1 : 2", "no such overload"),
        ("1 / 0 == 1 || false", "division by zero"),
        ("$A.?nothing.value()", "optional.none() dereference"),
        ('semver("1.0")', "'1.0' is no semantic version"),
    ],
)
def test_where_cel_has_no_value_there_is_an_error(text: str, problem: str) -> None:
    with pytest.raises(
        EvaluationError, match="^" + problem.replace(".", r"\.").replace("(", r"\(").replace(")", r"\)")
    ):
        value(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "device.",
        "1 +",
        "size(",
        "1u",
        'b"bytes"',
        "a ? b",
        "format(1)",
        "unknown_variable",
        '"\\q"',
        "has(device)",
        "[1].map(1, 2)",
        '"a".matches("(a+)+$")',
        '"a".matches("a*b*c*d*e*$")',
        "(" * 41 + "1" + ")" * 41,
        "1" + " + 1" * 101,
        "device" + ".a" * 101,
        " " * LONGEST_TEXT + "1",
        '"aaaaaaaaaa"' + '.replace("a", "aaaaaaaaaa")' * 20,
        'cel.bind(a, "x" ' + '+ "xxxxxxxxxx"' * 90 + ", " + "cel.bind(a, a + a + a + a, " * 9 + "a" + ")" * 10,
        '"' + "a" * 101 + '".matches("a")',
        '"a".matches("a{1,99999999999999999999}")',
        "[" + ",".join(["1"] * 200) + "].all(a, [" + ",".join(["1"] * 200) + "].all(b, true))",
    ],
)
def test_what_is_not_known_is_said_and_not_guessed(text: str) -> None:
    with pytest.raises(UnsupportedError):
        value(text)


@given(some.text(alphabet='device.attributes["x"]==&&||!?:()+-*/%<>1 \\\'a,{}', max_size=60))
def test_no_text_ends_the_program(text: str) -> None:
    """Whoever may write a claim may write any expression."""
    with suppress(UnsupportedError, EvaluationError):
        value(text)


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        ("1.0.0-alpha", "1.0.0-alpha.1"),
        ("1.0.0-alpha.1", "1.0.0-alpha.beta"),
        ("1.0.0-2", "1.0.0-11"),
        ("1.0.0-rc.1", "1.0.0"),
    ],
)
def test_versions_are_ordered_by_semver(lower: str, higher: str) -> None:
    one, other = parse_version(lower), parse_version(higher)
    assert one is not None
    assert other is not None
    assert one < other


@pytest.mark.parametrize("text", ["1.0", "01.0.0", "1.0.0-01", "v1.0.0", "1.0.0-", "", "1.0.0.0"])
def test_other_texts_are_no_versions(text: str) -> None:
    assert parse_version(text) is None
