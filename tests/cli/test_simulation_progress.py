"""How far a simulation is."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from restow.cli import terminal
from restow.cli.terminal import progress_line, simulating
from restow.kube.duration import HOUR, MINUTE


class Terminal(io.StringIO):
    def isatty(self):
        return True


def clock(*times):
    """A module ``time`` whose monotonic clock says these times, one after the other."""
    return SimpleNamespace(monotonic=iter(times).__next__)


@pytest.mark.parametrize(("seconds", "is_shown"), [(0.1, False), (60.0, True)], ids=["a short one", "a long one"])
def test_only_a_long_simulation_shows_how_far_it_is(monkeypatch, seconds, is_shown):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(terminal, "time", clock(0.0, seconds))
    with simulating(24 * HOUR) as tick:
        tick(3 * HOUR + 20 * MINUTE)
    assert ("3h20m of 1d simulated" in screen.getvalue()) is is_shown


def test_nothing_is_written_into_a_file(monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    monkeypatch.setattr(terminal, "time", clock(0.0, 60.0))
    with simulating(HOUR) as tick:
        tick(MINUTE)
    assert file.getvalue() == ""


def test_virtual_and_real_time_are_told():
    assert progress_line(3 * HOUR, 12 * HOUR, 65.4) == "3h of 12h simulated in 1m5s, 3m16s left"
    assert progress_line(0, 12 * HOUR, 2) == "0s of 12h simulated in 2s"
