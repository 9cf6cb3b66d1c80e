"""Series of usage as they are stored: exact, small, and refused where they are not what was written."""

from __future__ import annotations

import zlib

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from cluster.histories import SAMPLES, a_series, samples_of
from restow.cluster.amounts import LARGEST
from restow.cluster.usage_series import MOST_SAMPLES, packed, rounded, unpacked
from restow.kube.objects import ObjectMeta, UsageSeries

SERIES = a_series({0: 5, 300: 10, 600: 0}, "up")
STORED = packed("n1", "cpu", SERIES)


@given(SAMPLES)
def test_what_is_stored_comes_back_exactly(samples):
    wire = packed("n1", "memory", a_series(samples, "q"))
    read = msgspec.json.decode(msgspec.json.encode(wire), type=UsageSeries)
    assert samples_of(unpacked(read)) == samples
    assert unpacked(read).query == "q"


@given(SAMPLES)
def test_rounding_changes_no_value_by_more_than_a_thousandth_of_the_largest(samples):
    largest = max(samples.values())
    for time, value in samples_of(rounded(a_series(samples))).items():
        assert abs(value - samples[time]) <= largest / 1000
        assert 0 <= value <= LARGEST


@given(st.lists(st.integers(0, 1023), min_size=1))
def test_small_values_are_not_rounded(values):
    samples = dict(enumerate(values))
    assert samples_of(rounded(a_series(samples))) == samples


def test_a_day_of_one_node_and_resource_takes_few_bytes():
    """288 samples of noise within a few percent take little more than a byte each."""
    noise = np.random.default_rng(1).normal(8 << 30, 200 << 20, 288)
    series = rounded(a_series({1_795_219_200 + 300 * at: int(value) for at, value in enumerate(noise)}))
    assert len(packed("n1", "memory", series).columns) < 1.3 * 288


def changed(**fields: object) -> UsageSeries:
    return structs.replace(STORED, **fields)


def columns(times: list[int], steps: list[int]) -> bytes:
    """Columns as they are stored, of differences that are not negative."""
    words = [np.array(times, dtype="<i8"), np.array(steps, dtype="<i8") << 1]
    return zlib.compress(b"".join(each.view(np.uint8).reshape(-1, 8).T.tobytes() for each in words))


@pytest.mark.parametrize(
    ("wire", "why"),
    [
        (
            changed(api_version="restow.dev/v2"),
            "apiVersion: restow.dev/v2 is not known; this restow reads restow.dev/v1",
        ),
        (changed(metadata=ObjectMeta(name="n1")), "metadata.name: must be n1.cpu"),
        (
            changed(resource="disk", metadata=ObjectMeta(name="n1.disk")),
            'resource: "disk" is not one of cpu, memory, share',
        ),
        (changed(samples=0), "samples: 0 is not from 1 to"),
        (changed(samples=-3), "samples: -3 is not from 1 to"),
        (changed(samples=MOST_SAMPLES + 1), "samples: .* is not from 1 to"),
        (changed(samples=2), "columns: do not hold 2 samples"),
        (changed(samples=4), "columns: do not hold 4 samples"),
        (changed(unit=0), "unit: 0 is not from 1"),
        (changed(unit=2**63), "unit: 9223372036854775808 is not from 1"),
        (changed(unit=LARGEST), "columns: a value is negative, or more than"),
        (changed(columns=b"no zlib"), "columns: cannot be unpacked"),
        (changed(columns=STORED.columns[:-4]), "columns: do not hold 3 samples"),
        (changed(columns=STORED.columns + b"x"), "columns: do not hold 3 samples"),
        (changed(columns=zlib.compress(bytes(1 << 26))), "columns: do not hold 3 samples"),
        (changed(columns=columns([0, 0, 1], [1, 1, 1])), "columns: the times do not ascend"),
        (changed(columns=columns([2**40, 1, 1], [1, 1, 1])), "columns: the times do not ascend"),
        (changed(columns=columns([1, 1, 2**63 - 1], [1, 1, 1])), "columns: the times do not ascend"),
        (changed(columns=columns([1, 1, 1], [2**62, 2**62, 1])), "columns: a value is negative"),
    ],
)
def test_what_was_not_written_like_this_is_refused_with_its_field(wire, why):
    with pytest.raises(ValueError, match=f"^{why}"):
        unpacked(wire)


@given(st.binary(max_size=200), st.integers(-1, 20), st.integers(-1, 2**64))
def test_no_bytes_do_worse_than_be_refused(data, samples, unit):
    try:
        series = unpacked(changed(columns=zlib.compress(data), samples=samples, unit=unit))
    except ValueError:
        return
    assert len(series) == samples
    assert int(series.values.min()) >= 0


def test_a_field_that_is_not_known_is_refused():
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.json.decode(b'{"kind": "UsageSeries", "step": 300}', type=UsageSeries)
