"""Times of the API in nanoseconds since the epoch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.kube.timestamps import SECOND, format_time, nearest_time, parse_time


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59Z", -SECOND),
        ("2026-07-01T12:00:00Z", 1782907200 * SECOND),
        ("2026-07-01T14:00:00+02:00", 1782907200 * SECOND),
        ("2026-07-01T04:30:00-07:30", 1782907200 * SECOND),
        ("1970-01-01T00:00:00.5Z", SECOND // 2),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T00:00:00.1234567899Z", 123456789),
        ("2262-04-11T23:47:16.854775807Z", 2**63 - 1),
        ("1677-09-21T00:12:43.145224192Z", -(2**63)),
    ],
)
def test_reads_offsets_and_fractions(text, nanoseconds):
    assert parse_time(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-07-01",
        "2026-07-01 12:00:00Z",
        "2026-07-01T12:00:00",
        "2026-13-01T12:00:00Z",
        "2026-02-30T12:00:00Z",
        "2026-07-01T12:00:60Z",
        "2026-07-01T12:00:00+0200",
        "2026-07-01T12:00:00+02:75",
        "2026-07-01T12:00:00Z ",
        "\u0662026-07-01T12:00:00Z",
    ],
)
def test_refuses_what_is_no_rfc_3339(text):
    with pytest.raises(ValueError, match="is not a time: write it as RFC 3339"):
        parse_time(text)


@pytest.mark.parametrize("text", ["2262-04-11T23:47:16.854775808Z", "0001-01-01T00:00:00Z"])
def test_refuses_times_beyond_int64(text):
    with pytest.raises(ValueError, match="outside of the years 1678 to 2262"):
        parse_time(text)


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("2262-04-11T23:47:16.854775808Z", 2**63 - 1),
        ("9999-12-31T23:59:59Z", 2**63 - 1),
        ("0001-01-01T00:00:00Z", -(2**63) + 1),
        ("1970-01-01T00:00:01Z", 10**9),
    ],
)
def test_a_time_of_an_object_beyond_int64_counts_as_the_nearest_that_it_holds(text, nearest):
    assert nearest_time(text) == nearest


def test_prints_utc_with_whole_seconds_rounded_down():
    assert format_time(1782907200 * SECOND + SECOND - 1) == "2026-07-01T12:00:00Z"
    assert format_time(-1) == "1969-12-31T23:59:59Z"


@given(st.integers(-(2**63) // SECOND + 1, 2**63 // SECOND - 1))
def test_whole_seconds_read_back(seconds):
    assert parse_time(format_time(seconds * SECOND)) == seconds * SECOND


@given(st.integers(-(2**60), 2**60))
def test_agrees_with_the_standard_library(microseconds):
    microseconds //= 1000
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)

    assert parse_time(moment.isoformat()) == microseconds * 1000
