"""Numbers in text are read as Go reads them; Python reads more."""

from __future__ import annotations

import math

import pytest

from restow.kube.numbers import parse_float


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0.0),
        ("-1.5", -1.5),
        ("+2.", 2.0),
        (".25", 0.25),
        ("1e+06", 1e6),
        ("1E-3", 0.001),
        ("0.10000000000000001", 0.1),
        ("+Inf", math.inf),
        ("-infinity", -math.inf),
        ("1e999", math.inf),
    ],
)
def test_a_decimal_number(text: str, value: float) -> None:
    assert parse_float(text) == value


def test_no_number_is_one() -> None:
    assert math.isnan(parse_float("NaN"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "1 ",
        "1\n",
        "1_000",
        "1,5",
        "١٢",
        "²",
        "1e",
        "e1",
        ".",
        "0x1p-2",
        "1f",
        "--1",
        "1e5_0",
        "infin",
        "-",
    ],
)
def test_what_python_alone_reads_and_what_nobody_does(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number"):
        parse_float(text)


def test_a_long_text_is_quoted_by_its_beginning() -> None:
    with pytest.raises(ValueError, match="is not a number") as raised:
        parse_float("1_" * 50_000)
    assert len(str(raised.value)) < 300
