"""Whole processes: what they wrote, what they cost, and that a time limit ends them."""

from __future__ import annotations

import sys

import pytest

from bench.processes import CommandError, run


def python(program, limit=30.0):
    return run([sys.executable, "-c", program], {}, limit)


def test_a_finished_process_tells_its_output_and_cost():
    done = python("print('here', end='')")
    assert done.output == b"here"
    assert done.cpu > 0
    assert done.wall > 0
    assert done.peak > 1 << 20


def test_the_peak_is_that_of_the_process_alone():
    """Children of a process that has grown large itself are not counted as large."""
    small, large = python("pass"), python("len(b'x' * 200_000_000)")
    assert large.peak - small.peak > 150_000_000


def test_a_process_is_ended_at_its_limit():
    done = python("while True: pass", limit=0.2)
    assert done.output is None
    assert 0.2 <= done.wall < 10


def test_a_failure_tells_what_the_process_said():
    with pytest.raises(CommandError, match="it broke"):
        python("raise SystemExit('it broke')")
