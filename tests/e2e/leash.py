"""Becomes another program that the kernel kills when the given parent process ends (on Linux; elsewhere it lives on).

    python leash.py PARENT COMMAND [ARGUMENT ...]

A step between instead of ``preexec_fn``, which may deadlock where threads run.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

#: prctl(2): the signal that a process gets when the thread that started it ends. It survives execve(2).
_PR_SET_PDEATHSIG = 1


def main(parent: str, *command: str) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):
            sys.exit(f"{command[0]}: the parent is gone")
    os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
