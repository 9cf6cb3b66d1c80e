"""Warnings of libraries quote other people's words too."""

from __future__ import annotations

import logging

from builders.hostile import OBEYED, is_harmless
from restow.cli.library_warnings import warn_of_libraries


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
