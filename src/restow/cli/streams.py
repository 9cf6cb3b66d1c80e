"""Lines on stderr, and streams that cannot show every character.

Where the encoding of stdout is not UTF-8, the few characters that restow itself draws with become their nearest relatives
in ASCII, one for one, so that columns stay columns; any other becomes a question mark.
"""

from __future__ import annotations

import codecs
import logging
import sys
from collections.abc import Iterable
from io import TextIOWrapper

from restow.redaction import public_line

_PLAIN = str.maketrans("▁▂▃▄▅▆▇█…✓✗⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "_.:-=+*#~+x..........")


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        why = f": {type(error).__name__}: {error}" if error is not None else ""
        warn([f"{record.getMessage()}{why}"])


def degrade_gracefully() -> None:
    """Make stdout and stderr of this process write what they can, instead of failing."""
    codecs.register_error("plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="plain")


def warn(lines: Iterable[object]) -> None:
    """Write to stderr what is no part of the result. Each sentence is one line, even where it quotes several."""
    for line in lines:
        sys.stderr.write(f"{public_line(str(line))}\n")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return "".join(each if each.isascii() else "?" for each in text), error.end


def warn_of_libraries() -> None:
    """Write their warnings to stderr from now on, unless a handler takes them; only asynchronous libraries say anything."""
    logging.lastResort = _Lines(logging.WARNING)
