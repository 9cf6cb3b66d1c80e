"""What is said about an error that nobody foresaw: that it is a bug, and what a report of it should hold."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from pathlib import Path

import restow

#: The smallest -v that shows a traceback.
_TRACEBACK_FROM = 2
_VERBOSE = re.compile(r"--?v[= ]?(\d+)")


def describe(error: Exception, arguments: Sequence[str]) -> list[str]:
    """Return the sentence, and before it the lines of the traceback where the arguments ask for one."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
    sentence = (
        f"restow failed unexpectedly: {type(error).__name__}: {error} ({place}); this is a bug in restow {restow.__version__}: "
        "please report it with this line, the command, and what the command prints with -v 2"
    )
    if _verbosity(arguments) < _TRACEBACK_FROM:
        return [sentence]
    return [*"".join(traceback.format_exception(error)).splitlines(), sentence]


def _verbosity(arguments: Sequence[str]) -> int:
    """Return the N of -v N; the arguments may be unusable otherwise."""
    joined = (f"{first} {second}" for first, second in zip(arguments, [*arguments[1:], ""], strict=True))
    found = (_VERBOSE.match(each) for each in joined)
    return max((int(each[1]) for each in found if each), default=0)
