"""Progress is for people who wait: not for files, and not for work that is done at once."""

from __future__ import annotations

import io
import sys
import threading

from restow.cli import terminal


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
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with terminal.working("reading"):
        pass
    assert screen.getvalue() == ""


def test_longer_work_is_shown_until_it_is_done(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with terminal.working("reading"):
        assert screen.shown.wait(timeout=30)
    assert screen.getvalue().endswith("\x1b[?25h\r\x1b[1A\x1b[2K")


def test_what_is_worked_on_is_shown_and_not_obeyed(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with terminal.working("reading \x1b]0;owned\x07 [red]a"):
        assert screen.shown.wait(timeout=30)
    assert "\x1b]0" not in screen.getvalue()
    assert "[red]a" in screen.getvalue()


def test_nothing_is_written_into_a_file(monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with terminal.working("reading"):
        pass
    assert file.getvalue() == ""
