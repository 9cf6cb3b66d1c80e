"""Go durations: reading, Go's texts of errors, and rendering."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.kube.duration import HOUR, MILLISECOND, MINUTE, SECOND, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("5s", 5 * SECOND),
        ("1h30m", 90 * MINUTE),
        ("1.5h", 90 * MINUTE),
        (".5s", SECOND // 2),
        ("1.s", SECOND),
        ("-2m", -2 * MINUTE),
        ("+2m", 2 * MINUTE),
        ("100ms", 100 * MILLISECOND),
        ("3us", 3000),
        ("3\u00b5s", 3000),
        ("3\u03bcs", 3000),
        ("1s1h", HOUR + SECOND),
        ("0.3333333333333333333h", 1200 * SECOND),
        ("9223372036854775807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
    ],
)
def test_reads_sums_of_numbers_with_units(text, nanoseconds):
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("x", 'time: invalid duration "x"'),
        (".s", 'time: invalid duration ".s"'),
        ("5", 'time: missing unit in duration "5"'),
        ("1h5", 'time: missing unit in duration "1h5"'),
        ("5x", 'time: unknown unit "x" in duration "5x"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1 s", 'time: unknown unit " s" in duration "1 s"'),
        ('1"\\', 'time: unknown unit "\\"\\\\" in duration "1\\"\\\\"'),
        ("1\u00e9", r'time: unknown unit "\xc3\xa9" in duration "1\xc3\xa9"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("9223372036854775809ns", 'time: invalid duration "9223372036854775809ns"'),
        ("3000000h", 'time: invalid duration "3000000h"'),
        ("2562047h2562047h", 'time: invalid duration "2562047h2562047h"'),
    ],
)
def test_answers_bad_texts_with_the_words_of_go(text, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
        parse_duration(text)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1500, "1.5\u00b5s"),
        (250 * MILLISECOND, "250ms"),
        (1500 * MILLISECOND, "1.5s"),
        (50 * MINUTE, "50m0s"),
        (90 * MINUTE, "1h30m0s"),
        (24 * HOUR + 1, "24h0m0.000000001s"),
        (-MINUTE, "-1m0s"),
        (-(2**63), "-2562047h47m16.854775808s"),
    ],
)
def test_prints_as_go_does(nanoseconds, text):
    assert format_duration(nanoseconds) == text


@given(st.integers(-(2**53), 2**53) | st.integers(-(2**63), 2**63 - 1))
def test_what_is_printed_reads_back(nanoseconds):
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds


@pytest.mark.parametrize("text", ["7" * 5000 + "h", "-" + "7" * 5000 + "h", "." + "7" * 5000 + "d", "7" + "x" * 5000])
def test_an_error_quotes_the_beginning_of_a_long_text(text: str) -> None:
    with pytest.raises(ValueError, match=rf'in duration "{text[:200]}…"|invalid duration "{text[:200]}…"') as refused:
        parse_duration(text)
    assert len(str(refused.value)) < 500


def test_zeros_in_front_do_not_count() -> None:
    assert parse_duration("0" * 5000 + "7s") == 7 * SECOND
