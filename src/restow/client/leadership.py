"""The permission to write that leader election gives, with the moment at which it ends by itself.

Whoever evicts asks ``remaining`` just before the request goes out: a leader that was paused, cut off or starved finds
that its time is over and stops, whatever else has not noticed yet. Others take the lease only ``lease`` seconds after
they saw a renewal, which is after it was sent; the permission ends ``renew`` seconds after it was sent, and the
difference is what a request in flight and clocks of unequal speed may use up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from restow.errors import InputError

#: Seconds from anywhere, never set back, that also pass while the machine sleeps.
Clock = Callable[[], float]

#: client-go waits up to this much longer than the retry period before it tries to acquire again.
JITTER = 1.2


def boot_clock() -> float:
    """Seconds since the machine started, asleep or not."""
    # Linux only; elsewhere the monotonic clock is what there is.
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


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
    """Written by the election, asked by everybody who writes."""

    clock: Clock
    #: The moment on ``clock`` at which the permission ends; the past while somebody else leads.
    deadline: float = float("-inf")

    def remaining(self) -> float:
        """Seconds for which we still lead; zero or less when we do not. A ``Permit``."""
        return self.deadline - self.clock()

    def held(self) -> bool:
        """Whether we lead now."""
        return self.remaining() > 0

    def extend(self, deadline: float) -> None:
        """The lease was renewed."""
        self.deadline = deadline

    def end(self) -> None:
        """Stop at once."""
        self.deadline = float("-inf")


def always() -> float:
    """The permission of a program that runs without leader election."""
    return float("inf")
