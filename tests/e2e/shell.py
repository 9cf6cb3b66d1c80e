"""A shell in which the commands of a page are typed, and a terminal at which a command asks."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Timer
from typing import Final, Self

_END = "-- end of a command --"
_CHUNK = 4096
#: No command of a page takes longer, in seconds; its loops wait for something that may never come.
_LONGEST: Final = 240


def with_restow(directory: Path, **more: str) -> dict[str, str]:
    """The environment of somebody who has restow, and other programs of which each is a line of ``sh``."""
    directory.mkdir()
    programs = {"restow": f"{sys.executable} -c 'from restow.cli.main import main; main()'", **more}
    for name, program in programs.items():
        file = directory / name
        file.write_text(f'#!/bin/sh\nexec {program} "$@"\n')
        file.chmod(0o755)
    path = os.pathsep.join((str(directory), os.environ["PATH"]))
    return os.environ | {"PATH": path, "COLUMNS": "80", "PYTHONPATH": os.pathsep.join(sys.path)}


class Shell:
    """One bash in which all commands of a page are typed; a context manager."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        #: The exit status of the last command; of a pipe, that of what failed in it.
        self.status = 0
        self._bash = subprocess.Popen(
            ["bash", "-u", "-o", "pipefail"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=directory,
            env=environment,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def typed(self, command: str) -> str:
        """What a command prints; RuntimeError if it does not end in four minutes."""
        limit = Timer(_LONGEST, self._kill)
        limit.start()
        try:
            return self._typed(command)
        finally:
            limit.cancel()

    def _typed(self, command: str) -> str:
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        # On a line of its own, also after an output without an end of line.
        self._bash.stdin.write(f"{command}\nended=$?; echo; echo {_END} $ended\n")
        self._bash.stdin.flush()
        said = ""
        for line in self._bash.stdout:
            if line.startswith(_END):
                self.status = int(line.removeprefix(_END))
                return said
            said += line
        raise RuntimeError(f"the shell ended with {command}:\n{said}")

    def end(self) -> None:
        """With all that still runs in it."""
        self._kill()
        self._bash.communicate()

    def _kill(self) -> None:
        # The session of bash is there until it has been waited for, so the number is no other process's.
        if self._bash.poll() is None:
            os.killpg(self._bash.pid, signal.SIGKILL)


def answered(command: str, answer: str, directory: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Exit status and output of a command at a terminal, where somebody types an answer."""
    terminal, end = pty.openpty()
    with subprocess.Popen(
        ["bash", "-c", command], stdin=end, stdout=end, stderr=end, cwd=directory, env=environment
    ) as process:
        os.close(end)
        os.write(terminal, f"{answer}\n".encode())
        said = b""
        try:
            while chunk := os.read(terminal, _CHUNK):
                said += chunk
        except OSError:
            # So Linux says that nobody is at the other end any more.
            pass
        finally:
            os.close(terminal)
    return process.returncode, said.decode(errors="replace").replace("\r\n", "\n")
