"""How long a Job waits with new pods after failures: functions without I/O.

10 s after the first failure, twice as long after each one more, and 10 minutes at most. Source: the Job controller,
Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

from restow.kube.manifests import Pod
from restow.kube.timestamps import SECOND, parse_time

_FIRST: Final = 10 * SECOND
_LONGEST: Final = 600 * SECOND
#: The most doublings of the wait, to keep numbers small.
_DOUBLINGS: Final = 20


def back_off(failures: int, last: int, now: int) -> int:
    """Nanoseconds that the back-off still lasts after a number of failures, the last at ``last``; 0 or less if over."""
    return last + min(_FIRST << min(failures - 1, _DOUBLINGS), _LONGEST) - now if failures else 0


def finished_at(pod: Pod) -> int:
    """When a pod ended or its deletion began, in nanoseconds since the epoch."""
    ended = next(
        (each for each in pod.status.conditions or () if each.type == "Ready" and each.status == "False"), None
    )
    if pod.is_over and ended is not None and ended.last_transition_time:
        return parse_time(ended.last_transition_time)
    if pod.metadata.deletion_timestamp is not None:
        grace = pod.metadata.deletion_grace_period_seconds or 0
        return parse_time(pod.metadata.deletion_timestamp) - grace * SECOND
    return parse_time(pod.metadata.creation_timestamp or "")
