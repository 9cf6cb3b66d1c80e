"""What is remembered of workloads from one cycle to the next: disappointments, and how long to leave them alone.

A *disappointment* is a replacement that landed elsewhere than foretold, came back to the node it was taken from, never
came, or is wanted again by the strategy that has just moved it. Each doubles the pause of its workload. A replacement
that comes true ends that. Time is an argument, in seconds of the event loop's time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from restow.executing.task import Task
from restow.kube.duration import SECOND, format_duration

#: The first pause and the longest (seconds).
FIRST_PAUSE = 300.0
LONGEST_PAUSE = 4 * 3600.0
#: After so long without another one, disappointments are forgotten (seconds).
_FORGET = 24 * 3600.0
#: A replacement that is wanted again within this time goes in a circle (seconds).
_SOON = 3600.0
#: A request that nobody has fulfilled within this time is forgotten (seconds); the Descheduler's takes 10 to 20 minutes.
_FULFILLED = 900.0


@dataclass(slots=True, frozen=True)
class Pause:
    """Why a workload is left alone, and until when."""

    whose: str
    why: str
    since: float
    until: float
    #: Disappointments in a row.
    times: int


@dataclass(slots=True, frozen=True)
class Awaited:
    """A replacement that was not ready in time."""

    namespace: str
    name: str
    uid: str


@dataclass(slots=True)
class Memory:
    """Kept by a process over all its cycles."""

    _pauses: dict[str, Pause] = field(default_factory=dict)
    _awaited: dict[str, Awaited] = field(default_factory=dict)
    #: The strategy and the time of each replacement that nobody had foretold, by uid.
    _moved: dict[str, tuple[str, float]] = field(default_factory=dict)
    #: When the eviction of a pod was requested of somebody else, by uid.
    _requested: dict[str, float] = field(default_factory=dict)

    def reason_against(self, task: Task, now: float) -> str | None:
        """Why a workload is left alone for now; noticing a circle is a disappointment."""
        plugin, at = self._moved.get(task.move.pod.uid, ("", 0.0))
        if plugin == task.move.plugin and now - at < _SOON:
            del self._moved[task.move.pod.uid]
            self.note_failed_prediction(task, now, f"{plugin} moved it {_ago(now - at)} ago and wants to move it again")
        return self.pausing(now).get(task.workload)

    def pausing(self, now: float) -> dict[str, str]:
        """Why workloads (uids) are left alone now."""
        return {uid: _sentence(pause, now) for uid, pause in self._pauses.items() if now < pause.until}

    def note_failed_prediction(self, task: Task, now: float, why: str) -> None:
        """A prediction did not come true; during a pause only the first counts."""
        before = self._pauses.get(task.workload)
        if before is not None and before.since <= now < before.until:
            return
        times = before.times + 1 if before is not None and now - before.until < _FORGET else 1
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(times - 1, 16))
        self._pauses = {each: known for each, known in self._pauses.items() if now - known.until < _FORGET}
        whose = str(task.move.owner or task.move.pod)
        self._pauses[task.workload] = Pause(whose, why, now, now + pause, times)

    def confirm(self, task: Task) -> None:
        """A replacement is ready where it was foretold to land."""
        self._pauses.pop(task.workload, None)

    def note(self, task: Task, replacement: str, now: float) -> None:
        """A replacement is ready, and nobody had foretold where; ``replacement`` is its uid."""
        self._moved = {uid: (plugin, at) for uid, (plugin, at) in self._moved.items() if now - at < _SOON}
        if not task.may_return:
            self._moved[replacement] = (task.move.plugin, now)

    def request(self, task: Task, now: float) -> None:
        """Somebody else is going to evict a pod."""
        self._requested = {uid: at for uid, at in self._requested.items() if now - at < _FULFILLED}
        self._requested[task.move.pod.uid] = now

    def requested(self, task: Task, now: float) -> str | None:
        """Why a pod is not asked for again."""
        at = self._requested.get(task.move.pod.uid)
        if at is None or now - at >= _FULFILLED:
            return None
        return f"its eviction was requested {_ago(now - at)} ago"

    def wait_for(self, task: Task, replacement: Awaited) -> None:
        """A replacement was not ready in time."""
        self._awaited[task.workload] = replacement

    def awaited(self, task: Task) -> Awaited | None:
        """The last replacement of a task's workload that was not ready in time."""
        return self._awaited.get(task.workload)

    def arrived(self, task: Task) -> None:
        """That replacement is ready now, or gone."""
        self._awaited.pop(task.workload, None)


def _sentence(pause: Pause, now: float) -> str:
    times = f"{pause.times} times in a row" if pause.times > 1 else "once"
    return f"backing off from {pause.whose} for {_ago(pause.until - now)} ({times}): {pause.why}"


def _ago(seconds: float) -> str:
    return format_duration(int(seconds) * SECOND)
