from __future__ import annotations

import pytest

from restow.kube.timestamps import parse_time
from restow.serving import der


@pytest.mark.parametrize(
    ("encoded", "expected"),
    [
        pytest.param(der.integer(0), "020100", id="zero"),
        pytest.param(der.integer(127), "02017f", id="the largest of one byte"),
        pytest.param(der.integer(128), "02020080", id="the first bit is a sign"),
        pytest.param(der.octets(b"x" * 127)[:2], "047f", id="a short length"),
        pytest.param(der.octets(b"x" * 128)[:3], "048180", id="a long length"),
        pytest.param(der.octets(b"x" * 256)[:4], "04820100", id="a longer length"),
        pytest.param(der.identifier("1.2.840.10045.2.1"), "06072a8648ce3d0201", id="identifier"),
        pytest.param(der.sequence(der.integer(1), der.boolean_true()), "30060201010101ff", id="sequence"),
        pytest.param(der.explicit(3, der.bits(b"\x01")), "a30403020001", id="tagged bits"),
    ],
)
def test_values(encoded, expected):
    assert encoded.hex() == expected


@pytest.mark.parametrize(
    ("time", "expected"),
    [("2049-12-31T23:59:59Z", b"\x17\x0d491231235959Z"), ("2050-01-01T00:00:00Z", b"\x18\x0f20500101000000Z")],
)
def test_times_have_four_digits_of_the_year_from_2050_on(time, expected):
    assert der.time(parse_time(time)) == expected
