"""What the current states of a pod's containers say: reasons, exit codes, restarts.

Only ``state`` is read, never ``lastState``. Source: Descheduler 0.36, PodLifeTime, RemoveFailedPods and
RemovePodsHavingTooManyRestarts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from restow.cluster.pod_values import NO_TIME, PodStates
from restow.kube.duration import SECOND
from restow.kube.objects import ContainerStatus

_LONGEST_DURATION = 2**63 - 1
#: The age of what has no time, in seconds.
MISSING = _LONGEST_DURATION // SECOND

_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def statuses_of(states: PodStates, *, init: bool, ephemeral: bool = False) -> tuple[ContainerStatus, ...]:
    """The statuses of the regular containers, then of init and ephemeral containers if asked for."""
    statuses = states.containers
    if init:
        statuses += states.init_containers
    if ephemeral:
        statuses += states.ephemeral_containers
    return statuses


def waiting_reasons(statuses: Iterable[ContainerStatus]) -> Iterator[str]:
    """Why containers wait, where they say why."""
    for status in statuses:
        if status.state is not None and status.state.waiting is not None and status.state.waiting.reason:
            yield status.state.waiting.reason


def reasons(statuses: Iterable[ContainerStatus]) -> Iterator[str]:
    """Why containers wait or ended, where they say why."""
    for status in statuses:
        if status.state is not None:
            for part in (status.state.waiting, status.state.terminated):
                if part is not None and part.reason:
                    yield part.reason


def exit_codes(statuses: Iterable[ContainerStatus]) -> Iterator[int]:
    """The exit codes of containers that ended."""
    for status in statuses:
        if status.state is not None and status.state.terminated is not None:
            yield status.state.terminated.exit_code


def restarts(statuses: Iterable[ContainerStatus]) -> int:
    """How often these containers restarted, all together."""
    return sum(status.restart_count for status in statuses)


# An absent time is as long ago as the longest duration of Go, 292 years: Go's zero time is even older.
def elapsed_since(times: npt.NDArray[np.int64], now: int) -> npt.NDArray[np.int64]:
    """Nanoseconds from each time (nanoseconds since the epoch, or NO_TIME) until now, at most LONGEST_DURATION."""
    earliest, latest = max(now - _LONGEST_DURATION, NO_TIME), min(now + _LONGEST_DURATION, _LONGEST_DURATION)
    return np.where(times == NO_TIME, _LONGEST_DURATION, now - np.clip(times, earliest, latest))


def seconds_since(times: npt.NDArray[np.int64], now: int) -> npt.NDArray[np.int64]:
    """Seconds from each time (nanoseconds since the epoch, or NO_TIME) until now, truncated towards zero."""
    elapsed = elapsed_since(times, now)
    return np.where(elapsed < 0, -(-elapsed // SECOND), elapsed // SECOND)


def short_duration(seconds: int) -> str:
    """As ``kubectl`` writes ages, in the two largest units: ``3d4h``, ``10m``, ``45s``."""
    for place, (unit, length) in enumerate(_UNITS):
        if seconds >= length:
            count, rest = divmod(seconds, length)
            smaller, step = _UNITS[min(place + 1, len(_UNITS) - 1)]
            return f"{count}{unit}{rest // step}{smaller}" if rest >= step else f"{count}{unit}"
    return "0s"


def age_text(seconds: int) -> str:
    """The age of a pod for people, such as ``age 3d4h``."""
    if seconds >= MISSING:
        return "no creation time"
    return f"age {short_duration(seconds)}" if seconds >= 0 else "created in the future"
