"""Runs cases in a child process, and knows which case ended it: by a crash, by silence, or by too much memory."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import IO

import msgspec

from fuzz.cases import Case, Death, Ran

#: Bytes of address space, and seconds for one case.
MEMORY, TIME_LIMIT = 2 << 30, 30.0
#: A child takes so many cases; caches that have grown by then are no fault of the next one.
_LIFE = 1_500
_CHUNK = 1 << 16
_LAST_WORDS = 6_000
_HEADER = 4
#: Seconds for a child to start, on a busy machine.
_START = 120.0
#: Seconds for a child that hangs to say where.
_GRACE = 2.0


class Worker:
    """A child that is started when it is needed and started again when a case has ended it."""

    def __init__(self, *, memory: int = MEMORY, time_limit: float = TIME_LIMIT) -> None:
        self._memory, self._time_limit = memory, time_limit
        self._child: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._done = 0

    def run(self, case: Case) -> tuple[Ran, ...] | Death:
        """What came of each command, or why there is no answer."""
        if self._child is None or self._done >= _LIFE:
            self.close()
            self._start()
        assert self._child is not None
        self._done += 1
        data = msgspec.msgpack.encode(case)
        try:
            assert self._child.stdin is not None
            self._child.stdin.write(len(data).to_bytes(_HEADER, "big") + data)
            self._child.stdin.flush()
            frame = self._frame(time.monotonic() + self._time_limit)
        except BrokenPipeError:
            frame = b""
        except TimeoutError:
            return self._buried(f"no answer in {self._time_limit:.0f} s")
        return msgspec.msgpack.decode(frame, type=tuple[Ran, ...]) if frame else self._buried("")

    def close(self) -> None:
        """End the child, if there is one."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _start(self) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": "0"}
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        command = [sys.executable, "-m", "fuzz.worker", str(self._memory)]
        self._child = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )
        self._done = 0
        # Imports are no part of any case.
        if not self._frame(time.monotonic() + _START):
            raise RuntimeError(f"the worker does not start: {self._buried('')}")

    def _frame(self, deadline: float) -> bytes:
        """The next frame of the child; empty if it is no more, TimeoutError if it does not come."""
        data, wanted = b"", _HEADER
        while len(data) < wanted:
            piece = self._piece(deadline)
            if not piece:
                return b""
            data += piece
            if wanted == _HEADER and len(data) >= _HEADER:
                wanted += int.from_bytes(data[:_HEADER], "big")
        return data[_HEADER:]

    def _piece(self, deadline: float) -> bytes:
        assert self._child is not None
        assert self._child.stdout is not None
        if not select.select([self._child.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise TimeoutError
        return os.read(self._child.stdout.fileno(), _CHUNK)

    def _buried(self, why: str) -> Death:
        """The end of the child, which it is made to tell about."""
        assert self._child is not None
        assert self._errors is not None
        if why:
            # The fault handler writes where it hangs.
            self._child.send_signal(signal.SIGABRT)
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(_GRACE)
        status = self._child.poll()
        self._errors.seek(0)
        words = self._errors.read().decode(errors="replace")[-_LAST_WORDS:]
        self.close()
        return Death(why or _ended(status), words)


def _ended(status: int | None) -> str:
    if status is not None and status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"ended with status {status}"
