"""The body of a request that needs a permission, which is asked for once more when the body is written.

Between the decision to send and the first byte lie turns of the event loop, and a connection to be made perhaps. A
process that stands still meanwhile would go on writing when it wakes up, before any timer ends the request. aiohttp
keeps the headers back until the body comes, so of a request that is broken off here nothing has been sent.
"""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import BytesPayload
from aiohttp.abc import AbstractStreamWriter

from restow.client.errors import NotPermitted

#: Seconds for which a write is still allowed; zero or less when it is not.
Permit = Callable[[], float]


class PermittedBody(BytesPayload):
    """Bytes that are written only with a permission."""

    def __init__(self, body: bytes, permit: Permit) -> None:
        super().__init__(body)
        self._permit = permit

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        """Write them; NotPermitted, and nothing is written, if the permission has ended."""
        if self._permit() <= 0:
            raise NotPermitted("the permission to write has expired; nothing was sent")
        await super().write_with_length(writer, content_length)
