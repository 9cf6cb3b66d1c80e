"""How patiently a plan is carried out, in seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from restow.kube.duration import SECOND
from restow.policies.policy import Namespaces, RestowSettings, Window

#: Seconds since the epoch, for what the clocks of the cluster say: windows, and timestamps of objects.
Clock = Callable[[], float]


def elapsed() -> float:
    """The event loop's time (seconds), by which all durations are measured: nobody sets it, forward or back."""
    return asyncio.get_running_loop().time()


@dataclass(slots=True, frozen=True)
class Settings:
    """Taken from the policy's ``restow:`` section."""

    #: How long a replacement may take until it is ready.
    ready: float = 300.0
    #: How long an eviction waits for its budget.
    budget: float = 300.0
    windows: tuple[Window, ...] = ()
    #: Whose pods may be evicted at all.
    namespaces: Namespaces = "all"
    #: Whether a pod that asks for it may be evicted by somebody else, later (feature gate EvictionsInBackground).
    in_background: bool = False

    @staticmethod
    def of(policy: RestowSettings, *, in_background: bool = False) -> Settings:
        """The settings of a policy."""
        return Settings(
            ready=policy.wait_for_ready / SECOND,
            budget=policy.wait_for_budget / SECOND,
            windows=policy.windows,
            namespaces=policy.namespaces,
            in_background=in_background,
        )
