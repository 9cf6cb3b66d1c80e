"""The scheduling queue: which pod is tried next, and why others wait.

A pod is in one place. *Active* pods are tried in order of priority, then of how long they have waited. A pod that was
rejected becomes *unschedulable* until an event that one of the plugins that rejected it is registered for; then it
returns to the active ones, by way of *backoff* while its wait lasts. After an attempt that ends in an error it goes to
backoff at once, and so it does as one of a group. When no pod is active, one in backoff is tried early, unless it waits
because of an error or for its group. A pod that was unschedulable for five minutes is tried again without any event.

There is no I/O and no clock: ``now`` is an argument, in seconds of any clock that does not go back; waits end at its
whole seconds. What is due by then is done before anything else. Source: PriorityQueue, Kubernetes 1.36.

A pod that ``pop`` returns is in flight: what happens from then on is remembered for it, until ``requeue`` puts it back
after an attempt that failed, ``done`` says that it is being bound (it may still be put back), or ``delete`` that it has
a node or is gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil, floor
from typing import Final

from msgspec import Struct, field, structs

from restow.scheduling.framework.requeueing import (
    BACKOFF_COMPLETE,
    FORCE_ACTIVATE,
    POP_FROM_BACKOFF,
    SCHEDULE_ATTEMPT_FAILURE,
    UNSCHEDULABLE_TIMEOUT,
    Action,
    ClusterEvent,
    PodFacts,
    Resource,
)
from restow.scheduling.queueing.events import QueueingRules, own_changes
from restow.scheduling.queueing.queued_pods import (
    BackoffSettings,
    InFlight,
    OrderedKeys,
    QueuedPod,
    QueuePlace,
    UnschedulablePods,
    is_backing_off,
)

#: Seconds between looks for pods that have been unschedulable for too long.
_FLUSH_EVERY: Final = 30

_ADDED: Final = ClusterEvent(Resource.UNSCHEDULABLE_POD, Action.ADD).label
_UPDATED: Final = ClusterEvent(Resource.UNSCHEDULABLE_POD, Action.UPDATE).label
_TIMEOUT: Final = ClusterEvent(Resource.ANY, Action.ALL, special=UNSCHEDULABLE_TIMEOUT)


class QueueSettings(Struct, frozen=True):
    """How long pods wait."""

    backoff: BackoffSettings = field(default_factory=BackoffSettings)
    #: Seconds that a pod stays unschedulable at most.
    longest_unschedulable: float = 300


class SchedulingQueue:
    """The pods that wait for a node; it changes with each of its methods."""

    def __init__(self, rules: QueueingRules, now: float, settings: QueueSettings | None = None) -> None:
        #: The plugins' rules for waiting pods.
        self.rules = rules
        self._settings = settings or QueueSettings()
        self._started = now
        self._flushes = 0
        self._pods: dict[str, QueuedPod] = {}
        self._coming = 0
        self._active = OrderedKeys()
        self._backoff = OrderedKeys()
        self._error_backoff = OrderedKeys()
        self._unschedulable = UnschedulablePods()
        self._in_flight = InFlight()
        #: How many pods came to which place, and why. Source: scheduler_queue_incoming_pods_total.
        self.incoming: Counter[tuple[QueuePlace, str]] = Counter()

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[QueuedPod]:
        """All pods, in the order in which they came."""
        return iter(self._pods.values())

    def get(self, key: str) -> QueuedPod | None:
        """A pod; None where it is not in the queue."""
        return self._pods.get(key)

    def place(self, key: str) -> QueuePlace:
        """Where a pod of the queue is."""
        if key in self._active:
            return QueuePlace.ACTIVE
        if key in self._backoff or key in self._error_backoff:
            return QueuePlace.BACKOFF
        if key in self._unschedulable:
            return QueuePlace.GATED if self._pods[key].gated_by else QueuePlace.UNSCHEDULABLE
        return QueuePlace.IN_FLIGHT

    def lengths(self) -> dict[QueuePlace, int]:
        """How many pods are where. Source: scheduler_pending_pods."""
        backoff, gated = len(self._backoff) + len(self._error_backoff), self._unschedulable.gated
        waiting = len(self._active) + backoff + len(self._unschedulable)
        return {
            QueuePlace.ACTIVE: len(self._active),
            QueuePlace.BACKOFF: backoff,
            QueuePlace.UNSCHEDULABLE: len(self._unschedulable) - gated,
            QueuePlace.GATED: gated,
            QueuePlace.IN_FLIGHT: len(self._pods) - waiting,
        }

    def events_in_flight(self) -> Counter[str]:
        """How many events are remembered for pods in flight, by label. Source: scheduler_inflight_events."""
        return self._in_flight.kept()

    def backoff_ends(self, key: str) -> int | None:
        """The second in which the wait of a pod of the queue ends; None where it need not wait."""
        queued = self._pods[key]
        return self._settings.backoff.ends(queued.since, queued.failures)

    def due(self, key: str) -> float | None:
        """When a queued pod becomes active at the latest; None if it is active, in flight or gated."""
        match self.place(key):
            case QueuePlace.BACKOFF:
                ends = self.backoff_ends(key)
                return None if ends is None else ends + 1.0
            case QueuePlace.UNSCHEDULABLE:
                return self._flush_after(self._pods[key].since)
            case _:
                return None

    def add(self, pod: PodFacts, now: float) -> None:
        """A pod comes; ``update`` where it is there already."""
        if pod.uid in self._pods:
            self.update(pod, now)
        else:
            self._come(pod, _ADDED, now)

    def update(self, pod: PodFacts, now: float) -> None:
        """Something of a pod changes, which may be what helps it; ``add`` where it is not there."""
        self._advance(now)
        queued = self._pods.get(pod.uid)
        if queued is None:
            self._come(pod, _UPDATED, now)
            return
        changed = self._pods[queued.key] = structs.replace(queued, pod=pod)
        place = self.place(queued.key)
        if place in (QueuePlace.UNSCHEDULABLE, QueuePlace.GATED):
            self._unschedulable.put(changed)
            event = next((each for each in own_changes(queued.pod, pod) if self.rules.helps(each, changed)), None)
            if event is not None:
                self._wake(changed, event.label, now)
        elif place is QueuePlace.IN_FLIGHT:
            if queued.key in self._in_flight:
                for event in own_changes(queued.pod, pod):
                    self._in_flight.note(event)
        else:
            self._reorder(changed)

    def delete(self, key: str) -> None:
        """A pod is gone, or has a node."""
        if key in self._pods:
            self._take_out(key)
            self._in_flight.end(key)
            del self._pods[key]

    def pop(self, now: float) -> QueuedPod | None:
        """The next pod to try; None where none may be tried now."""
        self._advance(now)
        first = self._active.first()
        if first is None:
            first = self._backoff.first()
            if first is None:
                return None
            self.incoming[QueuePlace.ACTIVE, POP_FROM_BACKOFF] += 1
        return self._begin(self._pods[first[0]])

    def take(self, key: str, now: float) -> QueuedPod | None:
        """One pod, wherever it waits, because others of its group are tried; None where it may not be tried or is not there."""
        self._advance(now)
        queued = self._pods.get(key)
        if queued is None or self.place(key) is QueuePlace.IN_FLIGHT:
            return None
        if key not in self._active:
            self._to_active(self._checked(queued), FORCE_ACTIVATE, now)
        return self._begin(self._pods[key]) if key in self._active else None

    def activate(self, key: str, now: float) -> None:
        """A pod is tried next, whatever it waits for, if it may be tried at all; one that is being tried stays as it is."""
        self._advance(now)
        queued = self._pods.get(key)
        if queued is not None and self.place(key) is not QueuePlace.IN_FLIGHT and key not in self._active:
            self._to_active(self._checked(queued), FORCE_ACTIVATE, now)

    def _begin(self, queued: QueuedPod) -> QueuedPod:
        """A pod is tried from now on."""
        self._take_out(queued.key)
        tried = self._pods[queued.key] = structs.replace(queued, attempts=queued.attempts + 1)
        self._in_flight.begin(queued.key)
        return tried

    def done(self, key: str) -> None:
        """A pod in flight is being bound: nothing that happens from now on matters to it."""
        self._in_flight.end(key)

    def requeue(self, key: str, rejected_by: frozenset[str], now: float) -> None:
        """The attempt of a pod failed: these plugins rejected it, or, where there are none, there was an error.

        A pod that is no longer in flight stays where it is.
        """
        self._advance(now)
        if key not in self._pods or self.place(key) is not QueuePlace.IN_FLIGHT:
            return
        failed = self._pods[key] = self._pods[key].failed(rejected_by, now)
        may_fit = self._may_fit_now(failed)
        self._in_flight.end(key)
        if may_fit:
            self._wake(failed, SCHEDULE_ATTEMPT_FAILURE, now)
        else:
            self._put_aside(failed, SCHEDULE_ATTEMPT_FAILURE)

    def on_event(self, event: ClusterEvent, now: float) -> None:
        """Something happens in the cluster; the pods that it can help are tried again."""
        self._advance(now)
        about = getattr(event.new if event.new is not None else event.old, "uid", "")
        helped = self._unschedulable.helped(
            lambda plugin: self.rules.is_registered(plugin, event), lambda queued: self._is_helped(queued, event), about
        )
        for queued in helped:
            self._wake(queued, event.label, now)
        self._in_flight.note(event)

    def next_wakeup(self, now: float) -> float | None:
        """When ``pop`` may return a pod although nothing has happened: ``now`` or later; None where never."""
        self._advance(now)
        if self._active or self._backoff:
            return now
        times = []
        erroneous = self._error_backoff.first()
        if erroneous is not None:
            times.append(erroneous[1][0] + 1.0)
        oldest = self._unschedulable.oldest()
        if oldest is not None:
            times.append(self._flush_after(oldest))
        return min(times, default=None)

    def _come(self, pod: PodFacts, label: str, now: float) -> None:
        self._advance(now)
        queued = self._pods[pod.uid] = QueuedPod(pod, self._coming, added=now, since=now)
        self._coming += 1
        self._to_active(self._checked(queued), label, now)

    def _may_fit_now(self, failed: QueuedPod) -> bool:
        """Whether an attempt that failed may succeed now: there was an error, or something helpful happened meanwhile.

        Pods of a group are always tried again: what helps one of them is no matter of that pod alone.
        """
        if not failed.rejected_by or failed.pod.group or failed.key not in self._in_flight:
            return True
        return any(self.rules.helps(event, failed) for event in self._in_flight.since(failed.key))

    def _is_helped(self, queued: QueuedPod, event: ClusterEvent) -> bool:
        """Whether an event concerns a pod and can help it."""
        concerned = event.at_most_priority is None or queued.pod.priority <= event.at_most_priority
        return concerned and self.rules.helps(event, queued)

    def _wake(self, queued: QueuedPod, label: str, now: float) -> None:
        """A pod may fit now: it is tried again once its wait is over."""
        if is_backing_off(self.backoff_ends(queued.key), now):
            self._to_backoff(self._checked(queued), label)
        else:
            self._to_active(self._checked(queued), label, now)

    def _checked(self, queued: QueuedPod) -> QueuedPod:
        """A pod with the plugin that does not let it be tried, if any does."""
        gate = self.rules.gate(queued)
        rejected_by = queued.rejected_by | {gate} if gate else queued.rejected_by
        checked = self._pods[queued.key] = structs.replace(queued, gated_by=gate, rejected_by=rejected_by)
        return checked

    def _to_active(self, queued: QueuedPod, label: str, now: float) -> None:
        if queued.gated_by:
            self._put_aside(queued, label)
            return
        self._take_out(queued.key)
        if queued.first_active is None:
            queued = self._pods[queued.key] = structs.replace(queued, first_active=now)
        self._active.put(queued.key, queued.order)
        self.incoming[QueuePlace.ACTIVE, label] += 1

    def _to_backoff(self, queued: QueuedPod, label: str) -> None:
        if queued.gated_by:
            self._put_aside(queued, label)
            return
        self._take_out(queued.key)
        self._reorder_backoff(queued)
        self.incoming[QueuePlace.BACKOFF, label] += 1

    def _put_aside(self, queued: QueuedPod, label: str) -> None:
        if queued.key not in self._unschedulable:
            self.incoming[QueuePlace.UNSCHEDULABLE, label] += 1
        self._take_out(queued.key)
        self._unschedulable.put(queued)

    def _take_out(self, key: str) -> None:
        for each in (self._active, self._backoff, self._error_backoff, self._unschedulable):
            each.discard(key)

    def _reorder(self, queued: QueuedPod) -> None:
        """A pod that is active or in backoff has changed."""
        if queued.key in self._active:
            self._active.put(queued.key, queued.order)
        else:
            self._reorder_backoff(queued)

    # No event wakes a group, so its pods are in backoff after each attempt; tried early, they would be tried all the time.
    def _reorder_backoff(self, queued: QueuedPod) -> None:
        ends = self.backoff_ends(queued.key)
        if queued.rejected_by and not queued.pod.group:
            self._backoff.put(queued.key, (ends, *queued.order))
        else:
            self._error_backoff.put(queued.key, (ends, queued.number))

    def _advance(self, now: float) -> None:
        """Do what is due by now: look for pods that have waited for too long, and end waits."""
        flushes = floor((now - self._started) / _FLUSH_EVERY)
        if flushes > self._flushes:
            self._flushes = flushes
            self._flush(self._started + flushes * _FLUSH_EVERY)
        for waiting in (self._backoff, self._error_backoff):
            while (first := waiting.first()) is not None and not is_backing_off(first[1][0], now):
                self._to_active(self._pods[first[0]], BACKOFF_COMPLETE, now)

    def _flush_after(self, since: float) -> float:
        """When a pod is found to have waited for too long that has been unschedulable since then."""
        too_long = since + self._settings.longest_unschedulable
        return self._started + (floor((too_long - self._started) / _FLUSH_EVERY) + 1) * _FLUSH_EVERY

    def _flush(self, now: float) -> None:
        waited = list(self._unschedulable.older_than(now - self._settings.longest_unschedulable))
        for queued in waited:
            self._wake(structs.replace(queued, was_flushed=True), UNSCHEDULABLE_TIMEOUT, now)
        if waited:
            self._in_flight.note(_TIMEOUT)


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
