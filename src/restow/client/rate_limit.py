"""The limit on requests per second, as client-go's token bucket keeps it.

The bucket holds ``burst`` tokens and gains ``qps`` a second. A request takes a token at once; if there is none, it
sleeps until its token is due: requests go out in the order in which they asked.
Source: flowcontrol.NewTokenBucketRateLimiter, client-go v0.36.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

#: What a limit of 0 means: kubectl's. client-go's own 5 and 10 date from before API servers shared themselves out
#: (priority and fairness), and would hold evictions of different workloads back.
DEFAULT_QPS = 50.0
DEFAULT_BURST = 300


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
