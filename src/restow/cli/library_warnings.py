"""What libraries warn of through Python's ``logging``, as lines on stderr like any other, without tracebacks."""

from __future__ import annotations

import logging

from restow.cli.streams import warn


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        why = f": {type(error).__name__}: {error}" if error is not None else ""
        warn([f"{record.getMessage()}{why}"])


def warn_of_libraries() -> None:
    """From now on, where nobody else listens; only asynchronous libraries say anything."""
    logging.lastResort = _Lines(logging.WARNING)
