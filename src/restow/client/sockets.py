"""The sockets of the connections to one server, until the last of them is closed.

aiohttp closes a TLS connection in use by sending close_notify and drops it; asyncio then waits for the other side's
close_notify, half a minute if necessary. And asyncio forgets a connection whose creation is cancelled in the very
iteration of the event loop in which it began. If the event loop ends meanwhile, such sockets stay open. So the sockets
are created here, and shut down in the end: their transports then read the end of the stream, regardless of the other
side, and close them.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from contextlib import suppress

from aiohttp.connector import AddrInfoType

#: Seconds. Closing takes a few iterations of the event loop and waits for no other program; this is for unforeseen
#: cases.
_AT_MOST = 5.0


class Sockets:
    """Makes sockets (aiohttp's ``socket_factory``) and knows which of them are open."""

    def __init__(self) -> None:
        self._open: set[socket.socket] = set()
        #: Set by ``end``; done when no socket is open.
        self._ended: asyncio.Future[None] | None = None

    def make(self, address: AddrInfoType) -> socket.socket:
        """A socket for an address, not connected yet; OSError after ``end``."""
        if self._ended is not None:
            raise OSError(errno.ESHUTDOWN, os.strerror(errno.ESHUTDOWN))
        family, kind, protocol, *_ = address
        made = _Socket(family, kind, protocol)
        made.on_close = self._closed
        self._open.add(made)
        return made

    async def end(self) -> None:
        """Break off every connection; returns when all sockets are closed."""
        self._ended = asyncio.get_running_loop().create_future()
        for each in self._open:
            # Who was about to connect one closes it.
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        if self._open:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended, _AT_MOST)

    def _closed(self, which: socket.socket) -> None:
        self._open.discard(which)
        if not self._open and self._ended is not None and not self._ended.done():
            self._ended.set_result(None)


class _Socket(socket.socket):
    """Says when it is closed."""

    on_close: Callable[[socket.socket], None]

    def close(self) -> None:
        super().close()
        self.on_close(self)
