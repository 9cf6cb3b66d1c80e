"""What the commands that last have in common: their log, their event loop and their exit status."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final

from restow.client.errors import ClientError
from restow.running.background import EndlessError
from restow.running.log_lines import hear_libraries
from restow.running.logs import Format, Log

_DONE: Final = 0
_FAILED: Final = 1


def daemon_log(form: Format, verbosity: int) -> Log:
    """Return where a daemon says everything, its libraries too; from now on this process is one that lasts."""
    # Unlike the other commands a daemon has to get rid of what it made.
    gc.enable()
    log = Log(sys.stderr, form, verbosity)
    hear_libraries(log)
    return log


def run_daemon(work: Coroutine[Any, Any, None], failed: Callable[[Exception], None]) -> int:
    """Run until the work is done, and return the exit status; ``failed`` is told what ended it. InputError passes."""
    try:
        asyncio.run(work)
    except (ClientError, OSError, EndlessError) as error:
        failed(error)
        return _FAILED
    return _DONE
