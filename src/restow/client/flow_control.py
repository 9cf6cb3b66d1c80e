"""When requests go out: the limit on requests per second, and the pauses before one is tried again.

The limit is client-go's token bucket: it holds ``burst`` tokens and gains ``qps`` a second. A request takes a token at
once; if there is none, it sleeps until its token is due, so requests go out in the order in which they asked. Pauses
grow each time, and never are in step with those of others.
Source: flowcontrol.NewTokenBucketRateLimiter, client-go v0.36.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from msgspec import Struct

from restow.client.errors import ServerTrouble, TooManyRequests, Unreachable

T = TypeVar("T")
R = TypeVar("R")

#: Spreads retries, keeps no secret.
_chance = random.Random()  # noqa: S311

#: The longest pause (seconds) that a server may ask for: the caller waits for the answer.
_LONGEST = 120.0
#: How often a request is tried in all that may pass.
_TRIES: Final = 4
#: How many requests for different objects go out at a time.
AT_A_TIME: Final = 16
#: What a limit of 0 means: kubectl's. client-go's own 5 and 10 date from before API servers shared themselves out
#: (priority and fairness), and would hold evictions of different workloads back.
DEFAULT_QPS = 50.0
DEFAULT_BURST = 300


class BackOff(Struct, frozen=True):
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


async def patiently(attempt: Callable[[], Awaitable[T]], tries: int = _TRIES) -> T:
    """What an attempt returns, repeated up to ``tries`` times in all if the server is busy or does not answer.

    Only for requests that may be carried out twice.
    """
    for failures in range(1, tries):
        try:
            return await attempt()
        except (Unreachable, TooManyRequests, ServerTrouble) as error:
            await asyncio.sleep(REQUESTS.wait(failures, getattr(error, "retry_after", None)))
    return await attempt()


@dataclass(slots=True)
class TokenBucket:
    """Counts in the event loop's time."""

    qps: float
    burst: int
    #: Below zero: the number of waiting requests.
    _tokens: float = field(init=False)
    _counted_at: float = field(init=False, default=float("-inf"))

    def __post_init__(self) -> None:
        self._tokens = float(self.burst)

    async def take(self) -> None:
        """Return when the next request may go out; a cancelled wait gives its token back."""
        now = asyncio.get_running_loop().time()
        if self._counted_at < now:
            gained = (now - self._counted_at) * self.qps
            self._tokens, self._counted_at = min(float(self.burst), self._tokens + gained), now
        self._tokens -= 1
        if self._tokens >= 0:
            return
        try:
            await asyncio.sleep(-self._tokens / self.qps)
        except asyncio.CancelledError:
            self._tokens += 1
            raise


def rate_limit(qps: float, burst: int) -> TokenBucket | None:
    """The limit for the values of ``--client-connection-qps`` and ``-burst``: 0 is the default, below 0 none at all."""
    if qps < 0:
        return None
    return TokenBucket(qps or DEFAULT_QPS, burst or DEFAULT_BURST)


async def for_each(
    things: Iterable[T], act: Callable[[T], Awaitable[R]], *, at_a_time: int = AT_A_TIME, seconds: float = math.inf
) -> list[R]:
    """Act on each thing, in order, some at a time, and return the results in that order; after ``seconds`` no more is begun."""
    waiting, results = iter(enumerate(things)), dict[int, R]()
    clock = asyncio.get_running_loop().time
    ends = clock() + seconds

    async def one_after_another() -> None:
        for place, thing in waiting:
            results[place] = await act(thing)
            if clock() >= ends:
                return

    await asyncio.gather(*(one_after_another() for _ in range(at_a_time)))
    return [results[place] for place in sorted(results)]
