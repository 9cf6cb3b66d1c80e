"""What libraries say through Python's ``logging``, in the one log that there is.

Otherwise Python would print it to stderr in a form of its own, with tracebacks. Set up when a run starts, not by
importing.
"""

from __future__ import annotations

import logging
from typing import Final

from restow.running.logs import Log

#: Where what is not a warning is told.
_DETAILS: Final = 5


class LibraryRecords(logging.Handler):
    """Passes on what it is given."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record: an exception in its own words, without a traceback."""
        message = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            self._log.failure(message, f"{type(error).__name__}: {error}", logger=record.name)
        elif record.levelno >= logging.ERROR:
            self._log.failure(message, message, logger=record.name)
        elif record.levelno >= logging.WARNING:
            self._log.caution(message)
        else:
            self._log.info(message, v=_DETAILS, logger=record.name)


def hear_libraries(log: Log) -> None:
    """From now on, write what libraries say to a log, and nowhere else."""
    root = logging.getLogger()
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    root.addHandler(LibraryRecords(log))
    root.setLevel(logging.INFO if log.tells(_DETAILS) else logging.WARNING)
