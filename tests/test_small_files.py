"""Policies and configurations are read to a bound."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from restow import small_files
from restow.errors import InputError
from restow.small_files import read_small, read_small_file


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device here")
def test_a_device_without_end_is_refused():
    with pytest.raises(InputError, match=r"^/dev/zero: larger than 10 MiB; this is not a policy"):
        read_small_file("/dev/zero")


def test_whatever_fits_is_read(monkeypatch):
    monkeypatch.setattr(small_files, "MOST_BYTES", 3)
    assert read_small(io.BytesIO(b"abc"), "x") == b"abc"
    with pytest.raises(InputError, match=r"^x: larger than"):
        read_small(io.BytesIO(b"abcd"), "x")
