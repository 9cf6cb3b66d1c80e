"""Why a pod of the queue waits, in words."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from restow.scheduling.queueing.queued_pod import QueuedPod, QueuePlace
from restow.scheduling.queueing.scheduling_queue import SchedulingQueue


def why_waiting(queue: SchedulingQueue, key: str, now: float) -> tuple[str, ...]:
    """Sentences about one pod: where it is, who rejected it, what it waits for; none where it is not in the queue."""
    queued = queue.get(key)
    return () if queued is None else tuple(_sentences(queue, queued, now))


def _sentences(queue: SchedulingQueue, queued: QueuedPod, now: float) -> Iterator[str]:
    place = queue.place(queued.key)
    if place is QueuePlace.IN_FLIGHT:
        yield f"Attempt {queued.attempts} is going on."
        return
    if queued.attempts:
        yield f"{_attempts(queued.attempts)}, {_outcome(queued)}."
    if place is QueuePlace.ACTIVE:
        yield "It is tried when its turn comes."
    elif place is QueuePlace.GATED:
        yield f"It is not tried: {queued.gated_by} says {queue.rules.why_gated(queued) or 'nothing any more'}."
    else:
        yield from _until(queue, queued, place, now)


def _until(queue: SchedulingQueue, queued: QueuedPod, place: QueuePlace, now: float) -> Iterator[str]:
    due = queue.due(queued.key)
    at_most = "" if due is None else f" in {max(ceil(due - now), 0)} s at the latest"
    if place is QueuePlace.BACKOFF:
        yield f"The next attempt is made{at_most}."
        return
    for words in dict.fromkeys(queue.rules.waits_for(queued)):
        yield f"It is tried again when {words}."
    yield f"Whatever happens, it is tried again{at_most}."


def _attempts(number: int) -> str:
    return "It was tried once" if number == 1 else f"It was tried {number} times"


def _outcome(queued: QueuedPod) -> str:
    by = sorted(queued.rejected_by - {queued.gated_by})
    return f"and rejected by {' and '.join(by)} the last time" if by else "and there was an error the last time"
