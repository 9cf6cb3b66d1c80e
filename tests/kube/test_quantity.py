"""Exact quantities: reading, rounding, printing and adding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.kube.quantity import LARGEST_VALUE, Format, Quantity, amount, enough, enough_value, parse_quantity

FORMATS: tuple[Format, ...] = ("DecimalSI", "BinarySI", "DecimalExponent")


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        ("0", 0),
        ("1", 10**9),
        ("100m", 10**8),
        ("250u", 250_000),
        ("7n", 7),
        ("1k", 10**12),
        ("2M", 2 * 10**15),
        ("3G", 3 * 10**18),
        ("1T", 10**21),
        ("1P", 10**24),
        ("1E", 10**27),
        ("1Ki", 1024 * 10**9),
        ("1.5Gi", 3 * 2**29 * 10**9),
        ("7Ei", 7 * 2**60 * 10**9),
        ("1e3", 10**12),
        ("1E3", 10**12),
        ("1e+3", 10**12),
        ("12e-3", 12 * 10**6),
        (".5", 5 * 10**8),
        ("5.", 5 * 10**9),
        ("+1", 10**9),
        ("-1.5", -15 * 10**8),
        ("007", 7 * 10**9),
        (" 1 ", 10**9),
        (2, 2 * 10**9),
        (0.1, 10**8),
        (1e21, 10**30),
    ],
)
def test_reads_every_suffix_and_sign(text, nano):
    assert parse_quantity(text).nano == nano


@pytest.mark.parametrize("text", ["", "x", "1gb", "1KiB", "1K", "1e", "1.2.3", "1 Gi", "1_000", "m", "-", ".", "1e1e1"])
def test_refuses_what_is_no_quantity(text):
    with pytest.raises(ValueError, match="is not a quantity: write a number with an optional suffix"):
        parse_quantity(text)


def test_finer_than_nano_rounds_away_from_zero():
    assert parse_quantity("0.1n").nano == 1
    assert parse_quantity("-0.1n").nano == -1
    assert parse_quantity("1e-300").nano == 1


@pytest.mark.parametrize(
    "text", ["1e301", "9" * 301, "9" * 5_000, "1e99999", "1e" + "9" * 5_000, "0" * 5_000 + "9" * 301]
)
def test_an_amount_with_more_digits_than_anything_has_is_beyond_everything(text):
    assert parse_quantity(text).nano > 10**308


def test_thousands_of_digits_that_change_nothing_are_read():
    assert parse_quantity("0" * 5_000 + "5").nano == 5 * 10**9
    assert parse_quantity("0." + "0" * 5_000 + "1").nano == 1
    assert parse_quantity("1." + "0" * 5_000).nano == 10**9
    assert parse_quantity("1e-99999").nano == 1


def test_only_binary_quantities_stop_at_the_largest_int64():
    assert parse_quantity("9Ei").nano == LARGEST_VALUE * 10**9
    assert parse_quantity("-9Ei").nano == -LARGEST_VALUE * 10**9
    assert parse_quantity("10E").nano == 10 * 10**27


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1001m", 2),
        ("1n", 1),
        ("-1001m", -2),
        ("0", 0),
        ("1.5Ki", 1536),
        ("10E", LARGEST_VALUE),
        ("9P", 9 * 10**15),
        ("10P", 10**16),
    ],
)
def test_values_round_away_from_zero_and_stop_at_the_largest_int64(text, value):
    assert parse_quantity(text).value() == value


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0Gi", "0"),
        ("1.5", "1500m"),
        ("1.500", "1500m"),
        ("1000m", "1"),
        ("1024k", "1024k"),
        ("5000000", "5M"),
        ("10000E", "10000E"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("0.5Ki", "512"),
        ("2047Mi", "2047Mi"),
        ("0.0001Ki", "102400u"),
        ("1.0001Ki", "1024102400u"),
        ("-2048Ki", "-2Mi"),
        ("12e6", "12e6"),
        ("1200e3", "1200e3"),
        ("15e-1", "1500e-3"),
        ("1e2", "100"),
    ],
)
def test_prints_the_largest_suffix_that_needs_no_fraction(text, canonical):
    assert str(parse_quantity(text)) == canonical


def test_equality_and_order_go_by_the_amount_alone():
    assert parse_quantity("1024") == parse_quantity("1Ki") == parse_quantity("1.024e3")
    assert len({parse_quantity("1000m"), parse_quantity("1")}) == 1
    assert parse_quantity("1k") < parse_quantity("1Ki")


def test_a_sum_keeps_the_format_of_the_first_amount_that_is_not_zero():
    assert str(parse_quantity("1Ki") + parse_quantity("1024")) == "2Ki"
    assert str(parse_quantity("0") + parse_quantity("1Ki")) == "1Ki"
    assert str(parse_quantity("1024") + parse_quantity("1Ki")) == "2048"


quantities = st.builds(Quantity, st.integers(-LARGEST_VALUE * 10**9, LARGEST_VALUE * 10**9), st.sampled_from(FORMATS))


@given(quantities)
def test_what_is_printed_reads_back_as_the_same_amount(quantity):
    again = parse_quantity(str(quantity))

    assert again == quantity
    # A binary quantity that needs no suffix reads back as a decimal one, which prints its own way.
    assert again.format != quantity.format or str(again) == str(quantity)


@given(quantities)
def test_rounded_values_are_the_smallest_that_cover_the_amount(quantity):
    value = abs(quantity.value())

    assert (value - 1) * 10**9 < abs(quantity.nano) <= value * 10**9 or value == quantity.nano == 0


@pytest.mark.parametrize(
    ("resource", "value", "expected"),
    [
        ("cpu", 16000, "16"),
        ("cpu", 1500, "1500m"),
        ("memory", 0, "0"),
        ("memory", 1023, "1023"),
        ("memory", 1024, "1Ki"),
        ("memory", 25 * 1024**3 // 2, "12.5Gi"),
        ("hugepages-2Mi", 2 * 1024**2, "2Mi"),
        ("nvidia.com/gpu", 8, "8"),
        ("pods", 1100, "1,100"),
    ],
)
def test_amounts_have_their_resources_unit(resource: str, value: int, expected: str) -> None:
    assert amount(resource, value) == expected


@pytest.mark.parametrize(
    ("resource", "value", "expected"),
    [
        ("memory", 1024, "1Ki"),
        ("memory", 1025, "1.1Ki"),
        ("memory", 5_261_334_937, "4.9Gi"),
        ("memory", 5_261_334_938, "5Gi"),
        ("cpu", 1, "1m"),
        ("cpu", 2000, "2"),
        ("pods", 1, "1"),
    ],
)
def test_enough_is_never_less_than_the_amount(resource: str, value: int, expected: str) -> None:
    assert enough(resource, value) == expected
    assert enough(resource, enough_value(resource, value)) == expected
    assert value <= enough_value(resource, value) <= value * 1.1
