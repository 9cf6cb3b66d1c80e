"""Starts one command, waits for it or ends it at its time limit, and writes what it cost to a file.

    python launcher.py REPORT LIMIT COMMAND [ARGUMENT ...]

A process of its own because it is small: the peak memory that the operating system tells of a process is at least that
of the one that started it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

#: Seconds between two looks at the running command.
_LOOK = 0.005
#: ``ru_maxrss`` is in KiB, on macOS in bytes.
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


def main(report: str, limit: str, *command: str) -> None:
    """The report holds ``finished``, ``status``, ``wall`` and ``cpu`` in seconds, and ``peak`` in bytes."""
    begin = time.perf_counter()
    process = subprocess.Popen(command)
    finished = True
    while True:
        # Only wait4 tells what one single child used.
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        if finished and time.perf_counter() > begin + float(limit):
            process.kill()
            finished = False
        time.sleep(_LOOK)
    cost = {
        "finished": finished,
        "status": os.waitstatus_to_exitcode(status),
        "wall": time.perf_counter() - begin,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak": usage.ru_maxrss * _RSS_UNIT,
    }
    with open(report, "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib would double this process
        json.dump(cost, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
