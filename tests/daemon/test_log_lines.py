"""What libraries log arrives in restow's log, in its form."""

from __future__ import annotations

import io
import logging

import pytest

from restow.daemon.log_lines import hear_libraries
from restow.daemon.logs import Log


@pytest.fixture
def heard():
    """Starts to listen at a verbosity; gives what was heard."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()

    def start(verbosity=0):
        hear_libraries(Log(stream, "text", verbosity))
        return stream

    yield start
    root.handlers[:] = handlers
    root.setLevel(level)


LIBRARY = logging.getLogger("some.library")


def test_an_exception_is_one_line_without_a_traceback(heard):
    stream = heard()
    LIBRARY.error("it failed", exc_info=ValueError("no\nway"))
    assert stream.getvalue().startswith("E")
    assert '"it failed" err=<\n\tValueError: no\n\tway\n > logger="some.library"' in stream.getvalue()
    assert "Traceback" not in stream.getvalue()
    assert " test_log_lines.py:" in stream.getvalue()


def test_severities(heard):
    stream = heard()
    LIBRARY.error("bad")
    LIBRARY.warning("odd %s", 1)
    LIBRARY.info("details")
    assert [line[0] for line in stream.getvalue().splitlines()] == ["E", "W"]
    assert "odd 1" in stream.getvalue()


def test_details_are_told_at_a_high_verbosity(heard):
    stream = heard(5)
    LIBRARY.info("details")
    assert '"details" logger="some.library"' in stream.getvalue()


def test_secrets_are_hidden(heard):
    stream = heard()
    LIBRARY.warning("sent %s", "Bearer abcdefgh12345678")
    assert "abcdefgh" not in stream.getvalue()
