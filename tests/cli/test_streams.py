"""Characters that a terminal does not have become ones that it has, one for one."""

from __future__ import annotations

import io
import logging
import sys

import pytest

from builders.hostile import HALF, OBEYED, is_harmless
from restow.cli.terminal import degrade_gracefully, warn, warn_of_libraries
from restow.reporting.load_lines import LEVELS


@pytest.fixture(params=["ascii", "latin-1"])
def written(request, monkeypatch):
    """What arrives at a terminal of this encoding."""

    def write(text):
        raw = io.BytesIO()
        for name in ("stdout", "stderr"):
            monkeypatch.setattr(sys, name, io.TextIOWrapper(raw, encoding=request.param))
        degrade_gracefully()
        sys.stdout.write(text)
        sys.stdout.flush()
        return raw.getvalue().decode("ascii")

    return write


def test_pictures_stay_pictures(written):
    assert written(LEVELS) == "_.:-=+*#"


def test_columns_stay_columns(written):
    assert written("web-7f…x2k  日本") == "web-7f~x2k  ??"


def test_what_the_terminal_has_stays(written):
    assert written("plain") == "plain"


def test_notes_are_lines_on_stderr(capsys):
    warn(["a", 1])
    assert capsys.readouterr() == ("", "a\n1\n")


def test_what_a_note_quotes_is_shown_and_not_obeyed(capsys):
    warn([f"pod {OBEYED}{HALF} of https://me:hunter2@proxy"])
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert is_harmless(told)
    assert "[hidden]@proxy" in told


def test_a_warning_is_one_line_without_a_traceback(capsys, monkeypatch):
    monkeypatch.setattr(logging, "lastResort", None)
    warn_of_libraries()
    error = ValueError(f"no {OBEYED}")
    record = {"msg": "lost %s", "args": (f"web-{OBEYED}",), "exc_info": (ValueError, error, None)}
    logging.lastResort.handle(logging.makeLogRecord(record))

    told = capsys.readouterr().err
    assert is_harmless(told)
    assert told.startswith("lost web-")
    assert "ValueError: no" in told
    assert told.count("\n") == 1
