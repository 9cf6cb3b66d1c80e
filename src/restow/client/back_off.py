"""How long to wait before trying again: longer each time, never in step with others."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from restow.client.errors import ServerTrouble, TooManyRequests, Unreachable

T = TypeVar("T")

#: Spreads retries, keeps no secret.
_chance = random.Random()  # noqa: S311


#: The longest pause (seconds) that a server may ask for: the caller waits for the answer.
_LONGEST = 120.0
#: How often a request is tried in all that may pass.
_TRIES: Final = 4


@dataclass(slots=True, frozen=True)
class BackOff:
    """Waits that grow by a factor up to a cap, each lengthened by a random share of itself (seconds)."""

    first: float
    cap: float
    factor: float = 2.0
    #: At most this share is added.
    jitter: float = 1.0

    def wait(self, failures: int, at_least: float | None = None, chance: random.Random = _chance) -> float:
        """Seconds to wait after ``failures`` in a row (1, 2, ...), at least what the server asked for."""
        # Beyond 64 doublings every wait is the cap; the power would overflow.
        plain = min(self.cap, self.first * self.factor ** min(failures - 1, 64))
        return max(plain, min(at_least or 0.0, _LONGEST)) * (1 + self.jitter * chance.random())


#: For the repetition of one request: 0.25 to 0.5 s, then up to 10 to 20 s.
REQUESTS = BackOff(first=0.25, cap=10.0)
#: For lists and watches that never end. Source: the reflector of client-go v0.36.
STREAMS = BackOff(first=0.8, cap=30.0)


async def patiently(attempt: Callable[[], Awaitable[T]]) -> T:
    """What an attempt returns, repeated a few times if the server is busy or does not answer.

    Only for requests that may be carried out twice.
    """
    for failures in range(1, _TRIES):
        try:
            return await attempt()
        except (Unreachable, TooManyRequests, ServerTrouble) as error:
            await asyncio.sleep(REQUESTS.wait(failures, getattr(error, "retry_after", None)))
    return await attempt()
