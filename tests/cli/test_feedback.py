"""Progress is for people who wait: not for files, and not for work that is done at once."""

from __future__ import annotations

import io
import sys
import threading

from restow.cli import feedback


class Terminal(io.StringIO):
    """A terminal that tells when something is shown on it."""

    def __init__(self):
        super().__init__()
        self.shown = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        written = super().write(text)
        if "reading" in text:
            self.shown.set()
        return written


def test_work_that_is_done_at_once_shows_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with feedback.working("reading"):
        pass
    assert terminal.getvalue() == ""


def test_longer_work_is_shown_until_it_is_done(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with feedback.working("reading"):
        assert terminal.shown.wait(timeout=30)
    assert terminal.getvalue().endswith("\x1b[?25h\r\x1b[1A\x1b[2K")


def test_what_is_worked_on_is_shown_and_not_obeyed(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with feedback.working("reading \x1b]0;owned\x07 [red]a"):
        assert terminal.shown.wait(timeout=30)
    assert "\x1b]0" not in terminal.getvalue()
    assert "[red]a" in terminal.getvalue()


def test_nothing_is_written_into_a_file(monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with feedback.working("reading"):
        pass
    assert file.getvalue() == ""
