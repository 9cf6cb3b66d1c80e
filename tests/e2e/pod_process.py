"""The process of one pod, and whether it is ready, as a readiness probe sees it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from e2e.child import Child
from e2e.pod_network import PORT, host_of

_PROGRAM = Path(__file__).resolve().with_name("pod_program.py")
#: Seconds that a probe waits for the answer.
_PROBE = 1.0
#: Seconds for what is over already: the exit status is read, so that no zombie is left.
_PROMPTLY = 1.0
_ASKED = b"GET / HTTP/1.1\r\nHost: probe\r\n\r\n"


class PodProcess:
    """Starts the program of a pod at an address; it listens ``start_up`` seconds later. For one start."""

    def __init__(self, address: str, start_up: float, log: Path) -> None:
        self._host = host_of(address)
        command = [sys.executable, "-I", "-S", str(_PROGRAM), self._host, str(PORT), str(start_up)]
        self._child = Child(command, log)
        self._was_started = False
        self._ended = asyncio.Event()
        #: A descriptor that can be read when the process has ended; None if nobody waits for that.
        self._descriptor: int | None = None

    @property
    def pid(self) -> int:
        """RuntimeError if it is not running."""
        return self._child.pid

    def start(self) -> None:
        """Return when the process is there. It takes milliseconds, and may not be cut short: a process would be left."""
        self._child.start()
        self._was_started = True
        try:
            self._descriptor = os.pidfd_open(self._child.pid)
        except RuntimeError:
            self._ended.set()
        else:
            asyncio.get_running_loop().add_reader(self._descriptor, self._on_end)

    async def is_ready(self) -> bool:
        """Whether it answers a request with 200 in time."""
        try:
            async with asyncio.timeout(_PROBE):
                return b" 200 " in await self._probe()
        except (OSError, TimeoutError):
            return False

    async def ends_within(self, seconds: float, *, unless: asyncio.Event) -> bool:
        """Wait so long, or until it ends or ``unless`` is set; return whether it has ended."""
        events = [asyncio.ensure_future(each.wait()) for each in (self._ended, unless)]
        try:
            await asyncio.wait(events, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in events:
                each.cancel()
        return self._ended.is_set()

    async def stop(self, grace: float) -> int:
        """Send SIGTERM, and SIGKILL if it runs for more than ``grace`` seconds; return its exit status.

        Zero if it was never started.
        """
        if not self._was_started:
            return 0
        if self._child.is_running:
            self._child.send(signal.SIGTERM)
            try:
                async with asyncio.timeout(grace):
                    await self._ended.wait()
            except TimeoutError:
                self.kill()
        return self._child.wait(_PROMPTLY)

    def kill(self) -> None:
        """Send SIGKILL and wait for its end; does nothing if it is not running."""
        self._child.kill()
        self._on_end()

    def _on_end(self) -> None:
        self._ended.set()
        if self._descriptor is not None:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
            self._child.wait(_PROMPTLY)

    async def _probe(self) -> bytes:
        reader, writer = await asyncio.open_connection(self._host, PORT)
        try:
            writer.write(_ASKED)
            return await reader.readline()
        finally:
            writer.close()
