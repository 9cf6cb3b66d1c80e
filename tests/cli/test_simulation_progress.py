"""How far a simulation is."""

from __future__ import annotations

import io
import sys

import pytest

from restow.cli import feedback
from restow.cli.feedback import progress_line, simulating
from restow.kube.duration import HOUR, MINUTE


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("patience", "is_shown"), [(3600, False), (0, True)], ids=["a short one", "a long one"])
def test_only_a_long_simulation_shows_how_far_it_is(monkeypatch, patience, is_shown):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(feedback, "_DELAY", patience)
    monkeypatch.setattr(feedback, "_PAUSE", 0)
    with simulating(24 * HOUR) as tick:
        tick(3 * HOUR + 20 * MINUTE)
    assert ("3h20m of 1d simulated" in terminal.getvalue()) is is_shown


def test_nothing_is_written_into_a_file(monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    monkeypatch.setattr(feedback, "_DELAY", 0)
    with simulating(HOUR) as tick:
        tick(MINUTE)
    assert file.getvalue() == ""


def test_virtual_and_real_time_are_told():
    assert progress_line(3 * HOUR, 12 * HOUR, 65.4) == "3h of 12h simulated in 1m5s"
