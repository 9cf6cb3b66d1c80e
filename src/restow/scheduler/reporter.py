"""What a scheduler did, as events of its pods, metrics and log lines, in kube-scheduler's words.

Each profile has a recorder of its own, since events name it as their controller.
Source: schedule_one.go and preemption of kube-scheduler 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from restow.client.binding import ObjectRef
from restow.client.events import Occurrence, Regarding
from restow.daemon.logs import Log, Ref
from restow.scheduler.metrics import SchedulerMetrics
from restow.scheduler.observing import Attempt, Result

#: The longest note of an event (bytes), and how a longer one ends.
_LONGEST: Final = 1024
_CUT: Final = " ..."
#: From this verbosity on, each attempt has a line.
_DETAILS: Final = 2


class Records(Protocol):
    """Takes events; ``client.events.EventRecorder`` is one."""

    def record(self, occurrence: Occurrence, /) -> None:
        """Record an event; returns at once and never fails."""
        ...


@dataclass(slots=True, frozen=True)
class SchedulerReporter:
    """An ``AttemptObserver`` that writes events, metrics and log lines."""

    log: Log
    metrics: SchedulerMetrics
    #: By the name of the profile.
    recorders: Mapping[str, Records]

    def attempted(self, attempt: Attempt) -> None:
        """Report how an attempt to schedule a pod ended, and how long it took."""
        result = attempt.result
        self.metrics.took(result.value, attempt.profile, deciding=attempt.deciding, lasted=attempt.lasted)
        self.metrics.timed(attempt.profile, attempt.parts)
        if attempt.tried_preemption:
            self.metrics.tried_preemption()
        if result is Result.SCHEDULED:
            self.metrics.waited(attempt.number, attempt.waited)
            self.bound(attempt.pod, attempt.profile, attempt.node)
        else:
            self.failed(attempt.pod, attempt.profile, result, attempt.message)

    def bound(self, pod: ObjectRef, profile: str, node: str) -> None:
        """Report that a pod is bound."""
        self.metrics.attempted(Result.SCHEDULED.value, profile)
        self.log.info("Successfully bound pod to node", v=_DETAILS, pod=_ref(pod), node=node)
        note = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
        self._record(profile, Occurrence(_about(pod), "Scheduled", "Binding", note))

    def failed(self, pod: ObjectRef, profile: str, result: Result, message: str) -> None:
        """Report why a pod still waits."""
        self.metrics.attempted(result.value, profile)
        if result is Result.ERROR:
            self.log.error("Error scheduling pod; retrying", message, pod=_ref(pod))
        else:
            self.log.info("Unable to schedule pod; no fit; waiting", v=_DETAILS, pod=_ref(pod), err=message)
        occurrence = Occurrence(_about(pod), "FailedScheduling", "Scheduling", shortened(message), "Warning")
        self._record(profile, occurrence)

    def preempted(self, pod: ObjectRef, profile: str, node: str, victims: Sequence[ObjectRef]) -> None:
        """Report the pods that are deleted for another one."""
        self.metrics.preempted(len(victims))
        for victim in victims:
            self.log.info("Preemptor Pod preempted victim Pod", preemptor=_ref(pod), victim=_ref(victim), node=node)
            note = f"Preempted by pod {pod.uid} on node {node}"
            self._record(profile, Occurrence(_about(victim), "Preempted", "Preempting", note, related=_about(pod)))

    def warn(self, sentence: str) -> None:
        """Log a warning."""
        self.log.warning(sentence)

    def _record(self, profile: str, occurrence: Occurrence) -> None:
        recorder = self.recorders.get(profile)
        if recorder is not None:
            recorder.record(occurrence)


def shortened(message: str) -> str:
    """Return a message, cut to the maximum length of an event's note and marked if it is longer."""
    encoded = message.encode()
    if len(encoded) <= _LONGEST:
        return message
    return encoded[: _LONGEST - len(_CUT)].decode(errors="ignore") + _CUT


def _about(pod: ObjectRef) -> Regarding:
    return Regarding("Pod", pod.name, pod.namespace, pod.uid)


def _ref(pod: ObjectRef) -> Ref:
    return Ref(pod.namespace, pod.name)
