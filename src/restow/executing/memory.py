"""What a process remembers about workloads from one cycle to the next: failed predictions and back-offs.

A *failed prediction* is a replacement that landed elsewhere than predicted, came back to its node, never came, or that the
same strategy wants to move again. After the first, restow backs off from the workload for a while; each further one doubles
that time. A replacement that is ready where it was predicted ends it. Time is an argument, in seconds of the event loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from restow.executing.task import Task
from restow.kube.duration import SECOND, format_duration

#: The first pause and the longest (seconds).
FIRST_PAUSE = 300.0
LONGEST_PAUSE = 4 * 3600.0
#: Failed predictions are forgotten after this time without another one (seconds).
_FORGET = 24 * 3600.0
#: If its strategy wants to move a replacement again within this time (seconds), the first move was useless.
_SOON = 3600.0
#: A request that is not fulfilled within this time is forgotten (seconds); in the Descheduler after 10 to 20 minutes.
_FULFILLED = 900.0


@dataclass(slots=True, frozen=True)
class Pause:
    """Why restow backs off from a workload, and until when."""

    whose: str
    why: str
    since: float
    until: float
    #: Failed predictions in a row.
    times: int


@dataclass(slots=True, frozen=True)
class Awaited:
    """A replacement that was not ready in time."""

    namespace: str
    name: str
    uid: str


@dataclass(slots=True)
class EvictionHistory:
    """What one process remembers over all its cycles."""

    _pauses: dict[str, Pause] = field(default_factory=dict)
    _awaited: dict[str, Awaited] = field(default_factory=dict)
    #: The strategy and the time of each replacement without a predicted node, by uid.
    _moved: dict[str, tuple[str, float]] = field(default_factory=dict)
    #: When another program was asked to evict a pod, by uid.
    _requested: dict[str, float] = field(default_factory=dict)

    def reason_against(self, task: Task, now: float) -> str | None:
        """Why restow backs off from a workload now. A strategy that wants to move its own replacement is noted here."""
        plugin, at = self._moved.get(task.move.pod.uid, ("", 0.0))
        if plugin == task.move.plugin and now - at < _SOON:
            del self._moved[task.move.pod.uid]
            self.note_failed_prediction(task, now, f"{plugin} moved it {_ago(now - at)} ago and wants to move it again")
        return self.pausing(now).get(task.workload)

    def pausing(self, now: float) -> dict[str, str]:
        """Why restow backs off from workloads now, by uid."""
        return {uid: _sentence(pause, now) for uid, pause in self._pauses.items() if now < pause.until}

    def note_failed_prediction(self, task: Task, now: float, why: str) -> None:
        """Note a failed prediction. During a back-off further ones do not count."""
        before = self._pauses.get(task.workload)
        if before is not None and before.since <= now < before.until:
            return
        times = before.times + 1 if before is not None and now - before.until < _FORGET else 1
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(times - 1, 16))
        self._pauses = {each: known for each, known in self._pauses.items() if now - known.until < _FORGET}
        whose = str(task.move.owner or task.move.pod)
        self._pauses[task.workload] = Pause(whose, why, now, now + pause, times)

    def confirm(self, task: Task) -> None:
        """A replacement is ready where it was predicted to land: end the back-off."""
        self._pauses.pop(task.workload, None)

    def note(self, task: Task, replacement: str, now: float) -> None:
        """Remember a replacement (a uid) whose node was not predicted, to notice if its strategy moves it again."""
        self._moved = {uid: (plugin, at) for uid, (plugin, at) in self._moved.items() if now - at < _SOON}
        if not task.may_return:
            self._moved[replacement] = (task.move.plugin, now)

    def request(self, task: Task, now: float) -> None:
        """Remember that another program was asked to evict a pod."""
        self._requested = {uid: at for uid, at in self._requested.items() if now - at < _FULFILLED}
        self._requested[task.move.pod.uid] = now

    def requested(self, task: Task, now: float) -> str | None:
        """Why the eviction of a pod is not requested again; None if it may be."""
        at = self._requested.get(task.move.pod.uid)
        if at is None or now - at >= _FULFILLED:
            return None
        return f"its eviction was requested {_ago(now - at)} ago"

    def wait_for(self, task: Task, replacement: Awaited) -> None:
        """Remember that a replacement was not ready in time."""
        self._awaited[task.workload] = replacement

    def awaited(self, task: Task) -> Awaited | None:
        """The last replacement of a task's workload that was not ready in time."""
        return self._awaited.get(task.workload)

    def arrived(self, task: Task) -> None:
        """Forget that replacement: it is ready now, or gone."""
        self._awaited.pop(task.workload, None)


def _sentence(pause: Pause, now: float) -> str:
    times = f"{pause.times} times in a row" if pause.times > 1 else "once"
    return f"backing off from {pause.whose} for {_ago(pause.until - now)} ({times}): {pause.why}"


def _ago(seconds: float) -> str:
    return format_duration(int(seconds) * SECOND)
