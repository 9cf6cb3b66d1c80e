"""The program in a pod of a process kubelet: a small HTTP server that behaves as a good server does.

    python -I -S pod_program.py ADDRESS PORT START_UP

It listens once START_UP seconds are over. ``GET /`` answers 200; ``GET /?seconds=0.5`` answers at once with the headers
and after that time with the body. On SIGTERM it accepts no more connections, finishes the requests that it has, and ends
with status 0. It needs the standard library only, so that it starts quickly.
"""

from __future__ import annotations

import asyncio
import re
import signal
import sys

_SECONDS = re.compile(rb"[?&]seconds=([0-9.]+)")
_HEADERS = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
_BODY = b"ok\n"
#: Connections that wait to be accepted, as many as most servers allow.
_BACKLOG = 128


class Program:
    """One server; every connection is for one request."""

    def __init__(self) -> None:
        self._ending = asyncio.Event()
        self._busy: set[asyncio.Task[None]] = set()

    async def run(self, address: str, port: int, start_up: float) -> None:
        """Return after SIGTERM, when the last request is answered."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._ending.set)
        if await self._ends_within(start_up):
            return
        server = await asyncio.start_server(self._accept, address, port, backlog=_BACKLOG)
        await self._ending.wait()
        server.close()
        if self._busy:
            await asyncio.wait(self._busy)

    async def _ends_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._ending.wait()
        except TimeoutError:
            return False
        return True

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._answer(reader, writer))
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            asked = _SECONDS.search(request.partition(b"\r\n")[0])
            writer.write(_HEADERS)
            if asked:
                await asyncio.sleep(float(asked[1]))
            writer.write(_BODY)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            # The client has closed the connection.
            return
        finally:
            writer.close()


if __name__ == "__main__":
    asyncio.run(Program().run(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
