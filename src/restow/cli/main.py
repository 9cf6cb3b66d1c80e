"""How a run of ``restow`` begins and ends.

Exit status 0 is done, 1 failed while running, 2 unusable arguments, policy or input, 130 interrupted. Errors
are written to stderr, a sentence each. Everything heavy is imported after Ctrl-C has been taken care of.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from restow.cli.terminal import FAILED, INTERRUPTED, UNUSABLE, degrade_gracefully, warn, warn_of_libraries
from restow.errors import InputError, problem_lines
from restow.version import __version__

_SHOW_CURSOR = b"\x1b[?25h\n"

#: The smallest -v that shows a traceback.
_TRACEBACK_FROM = 2
_VERBOSE = re.compile(r"--?v[= ]?(\d+)")


def main() -> None:
    """Run the command line of this process and exit."""
    signal.signal(signal.SIGINT, _stop)
    # A command needs what it makes until it ends; looking for garbage takes a fifth of the time of a large plan.
    gc.disable()
    # No matrices are multiplied; NumPy would start a thread for each processor all the same.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    degrade_gracefully()
    warn_of_libraries()
    status = run(sys.argv[1:])
    sys.stderr.flush()
    # Nothing is left to do: tearing down millions of objects one by one would only take time.
    os._exit(status)


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit status."""
    try:
        from restow.cli.app import call

        status = call(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader of the output has closed it; rich turns the one error into the other.
        return 0
    except Exception as error:  # noqa: BLE001 - no error, however unforeseen, ends in a traceback
        lines, status = _verdict(error, arguments)
        warn(_shortened(line, arguments) for line in lines)
    return status


def _shortened(sentence: str, arguments: Sequence[str]) -> str:
    """Return the sentence with no more than the beginning of a long argument, or of a long part of one."""
    from restow.kube.excerpts import LONGEST, excerpt

    pieces = (part for each in arguments for part in (each, each[2:], *re.split("[=,:/]", each)))
    parts = {part for part in pieces if len(part) > LONGEST}
    for part in sorted(parts, key=len, reverse=True):
        sentence = sentence.replace(part, excerpt(part))
    return sentence


def _verdict(error: Exception, arguments: Sequence[str]) -> tuple[Sequence[str], int]:
    """Return what to say of an error, and the exit status."""
    match error:
        case InputError():
            return problem_lines(error.sentences), UNUSABLE
        case OSError():
            return [f"restow failed: {error.strerror or error}"], FAILED
        case MemoryError():
            return ["restow failed: there is not enough memory for this input"], FAILED
    from restow.errors import ClientError

    if isinstance(error, ClientError):
        return [f"restow failed: {error}"], FAILED

    return describe(error, arguments), FAILED


def _stop(_signal: int, _frame: FrameType | None) -> None:
    """Leave at once: nothing here has to be undone but the cursor that the spinner hides."""
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR)
    os._exit(INTERRUPTED)


def describe(error: Exception, arguments: Sequence[str]) -> list[str]:
    """Return the sentence, and before it the lines of the traceback where the arguments ask for one."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
    sentence = (
        f"restow failed unexpectedly: {type(error).__name__}: {error} ({place}); this is a bug in restow {__version__}: "
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
