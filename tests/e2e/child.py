"""A child process that writes to a log file and dies with its parent, even if that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_LEASH = Path(__file__).resolve().parent / "leash.py"
#: Characters of a log that an error message holds.
_TAIL = 2000


#: Starts all children and lives as long as this process: the kernel kills children with the *thread* that started them.
_STARTER = ThreadPoolExecutor(1, thread_name_prefix="starter")


class Child:
    """One program, in this process's environment or another. Any thread may start it."""

    def __init__(self, command: Sequence[str], log: Path, *, environment: Mapping[str, str] | None = None) -> None:
        self.command = tuple(command)
        self.log = log
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        """The program's."""
        return Path(self.command[0]).name

    @property
    def pid(self) -> int:
        """Raises RuntimeError if it is not running."""
        if self._process is None or not self.is_running:
            raise RuntimeError(f"{self.name} is not running")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended since."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Appends to the log."""
        leashed = [sys.executable, "-I", "-S", str(_LEASH), str(os.getpid()), *self.command]
        with self.log.open("ab") as log:

            def opened() -> subprocess.Popen[bytes]:
                return subprocess.Popen(
                    leashed,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    env=self._environment,
                )

            self._process = _STARTER.submit(opened).result()

    def check(self) -> None:
        """Raises RuntimeError with the end of the log if it is over."""
        if not self.is_running:
            status = None if self._process is None else self._process.returncode
            raise RuntimeError(f"{self.name} ended with status {status}:\n{self.tail()}")

    def send(self, number: signal.Signals) -> None:
        """Sends a signal: SIGSTOP and SIGCONT freeze and thaw it."""
        os.kill(self.pid, number)

    def wait(self, timeout: float) -> int:
        """The exit status, once it has ended by itself; subprocess.TimeoutExpired if it does not."""
        assert self._process is not None
        return self._process.wait(timeout)

    def kill(self) -> None:
        """At once, and waits for its end; nothing if it is not running."""
        self._end(signal.SIGKILL)

    def terminate(self) -> None:
        """Politely, and waits for its end, by force after ten seconds."""
        self._end(signal.SIGTERM)

    def tail(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-_TAIL:] if self.log.exists() else ""

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
