"""Runs another program and writes down what it needed, for ``running.py``.

    python scale.py RECORD COMMAND [ARGUMENT ...]

RECORD is a file of JSON: ``{"pid": 17}`` at first, and at the end ``status`` (negative for a signal), ``peak_rss`` in
bytes, ``cpu`` and ``wall`` in seconds too. What the kernel keeps of a process counts from the memory of the one that started it,
so that must be small: this is why the tests do not ask it themselves. The program dies with this one (on Linux).
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
#: getrusage(2) counts memory in KiB on Linux, in bytes elsewhere.
_RSS_UNIT = 1024 if sys.platform == "linux" else 1


def main(record: str, *command: str) -> int:
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.execvp(command[0], command)
    write(record, {"pid": pid})
    _, ended, usage = os.wait4(pid, 0)
    status = os.waitstatus_to_exitcode(ended)
    wall, cpu = time.monotonic() - began, usage.ru_utime + usage.ru_stime
    write(record, {"pid": pid, "status": status, "peak_rss": usage.ru_maxrss * _RSS_UNIT, "cpu": cpu, "wall": wall})
    return 0


def write(record: str, told: dict[str, float]) -> None:
    """As a whole: whoever reads sees the old or the new."""
    new = Path(f"{record}.new")
    new.write_text(json.dumps(told))
    new.replace(record)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
