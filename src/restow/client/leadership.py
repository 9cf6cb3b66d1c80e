"""The permission to write that leader election gives, which ends by itself, and the requests that need it.

Every write asks ``remaining`` just before its request goes out: a leader that was paused or cut off finds that its time
is over and stops, even if nothing else has noticed yet. Others take the lease only ``lease`` seconds after they saw a
renewal, which is after it was sent; the permission ends ``renew`` seconds after it was sent. The difference is for
requests in flight and for clocks of unequal speed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import BytesPayload
from aiohttp.abc import AbstractStreamWriter

from restow.client.errors import NotPermitted
from restow.client.server_time import Clock
from restow.errors import InputError

#: client-go waits up to this much longer than the retry period before it tries to acquire again.
JITTER = 1.2
#: Seconds for which a write is still allowed; zero or less when it is not.
Permit = Callable[[], float]


@dataclass(slots=True, frozen=True)
class Timing:
    """The three durations of leader election (seconds), the Kubernetes Descheduler's by default."""

    #: Others wait so long after the last renewal that they saw.
    lease: float = 137.0
    #: The leader gives up so long after its last renewal.
    renew: float = 107.0
    #: Between tries.
    retry: float = 26.0

    def check(self) -> None:
        """InputError, in client-go's words, for durations that do not go together."""
        if self.lease <= self.renew:
            raise InputError("leaseDuration must be greater than renewDeadline")
        if self.renew <= JITTER * self.retry:
            raise InputError("renewDeadline must be greater than retryPeriod*JitterFactor")
        for name, value in (("leaseDuration", self.lease), ("renewDeadline", self.renew), ("retryPeriod", self.retry)):
            if value <= 0:
                raise InputError(f"{name} must be greater than zero")


DESCHEDULER = Timing()


@dataclass(slots=True)
class Leadership:
    """Until when we lead: the election sets it, and every write asks for it."""

    clock: Clock
    #: The moment on ``clock`` at which the permission ends; the past while another process leads.
    deadline: float = float("-inf")

    def remaining(self) -> float:
        """Seconds for which we still lead; zero or less when we do not. A ``Permit``."""
        return self.deadline - self.clock()

    def held(self) -> bool:
        """Whether we lead now."""
        return self.remaining() > 0

    def extend(self, deadline: float) -> None:
        """Extend the permission: the lease was renewed."""
        self.deadline = deadline

    def end(self) -> None:
        """End the permission at once."""
        self.deadline = float("-inf")


class PermittedBody(BytesPayload):
    """The body of a request that needs a permission, which is checked again when the body is written.

    Between the decision to send and the first byte, the event loop runs other tasks and perhaps a connection is made. A
    process that was paused meanwhile would write as soon as it continues, before any timer ends the request. aiohttp
    holds the headers back until the body comes, so nothing has been sent of a request that ends here.
    """

    def __init__(self, body: bytes, permit: Permit) -> None:
        super().__init__(body)
        self._permit = permit

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        """Write the bytes; NotPermitted, and nothing is written, if the permission has ended."""
        if self._permit() <= 0:
            raise NotPermitted("the permission to write has expired; nothing was sent")
        await super().write_with_length(writer, content_length)


def always() -> float:
    """The permission of a program that runs without leader election."""
    return float("inf")
