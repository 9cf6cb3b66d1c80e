"""Attempts to schedule a pod while they run, and what a scheduler reports of them for events, metrics and log lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from time import perf_counter
from typing import Protocol

from restow.client.objects import ObjectRef
from restow.scheduling.framework.requeueing import PodFacts
from restow.scheduling.queueing.queued_pods import QueuedPod

#: Extension point, plugin (empty for the whole point) and status, in kube-scheduler's words.
Part = tuple[str, str, str]


class Result(Enum):
    """How an attempt ended; the values are those of kube-scheduler's metrics."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


@dataclass(slots=True, frozen=True, kw_only=True)
class Attempt:
    """One attempt to find a node for a pod, and to bind it there."""

    pod: ObjectRef
    #: The profile that decided: the scheduler that the pod names.
    profile: str
    result: Result
    #: Which of the pod's attempts it is, from 1.
    number: int
    #: Seconds that the decision took.
    deciding: float
    #: Seconds from when the pod was taken from the queue to the end, binding included.
    lasted: float
    #: Seconds since the pod first waited.
    waited: float
    #: Empty unless the pod was bound, or a bind failed.
    node: str = ""
    #: Why there is no node, in kube-scheduler's words; empty for a pod that was bound.
    message: str = ""
    #: Seconds of its parts.
    parts: Mapping[Part, float] = field(default_factory=dict)
    #: Whether DefaultPreemption was tried, successfully or not.
    tried_preemption: bool = False


@dataclass(slots=True)
class AttemptTimer:
    """Times the parts of one attempt, as ``scheduling.framework.extension_points.PhaseTimer``."""

    #: Whether each plugin is timed as well.
    with_plugins: bool
    #: Seconds of each part.
    parts: dict[Part, float] = field(default_factory=dict)
    #: When the current extension point and plugin began.
    _began: float = field(default_factory=perf_counter)
    _since: float = field(default_factory=perf_counter)

    def __call__(self, point: str, plugin: str = "", status: str = "Success") -> None:
        """Note that a part of the decision has ended."""
        now = perf_counter()
        if not plugin:
            self.parts[point, "", status] = now - self._began
            self._began = now
        elif self.with_plugins:
            self.parts[point, plugin, status] = now - self._since
        self._since = now


@dataclass(slots=True, frozen=True, kw_only=True)
class RunningAttempt:
    """An attempt in progress."""

    queued: QueuedPod
    #: When the pod was taken from the queue, and when its node was decided, in the event loop's time.
    began: float
    decided: float
    timing: AttemptTimer

    @property
    def pod(self) -> ObjectRef:
        """How requests identify the pod."""
        return ref_of(self.queued.pod)

    def ended(self, now: float, result: Result) -> Attempt:
        """The attempt as observers see it, but for what was found out."""
        return Attempt(
            pod=self.pod,
            profile=self.queued.pod.scheduler,
            result=result,
            number=self.queued.attempts,
            deciding=self.decided - self.began,
            lasted=now - self.began,
            waited=now - self.queued.added,
            parts=self.timing.parts,
        )


class AttemptObserver(Protocol):
    """Called at the end of each attempt, and when pods are preempted."""

    def attempted(self, attempt: Attempt) -> None:
        """An attempt has ended: the pod is bound, or has to wait."""

    def preempted(self, pod: ObjectRef, profile: str, node: str, victims: Sequence[ObjectRef]) -> None:
        """Pods on a node are being deleted for a more important one, which is still pending."""

    def warn(self, sentence: str) -> None:
        """Warn the user."""


def ref_of(pod: PodFacts) -> ObjectRef:
    """How requests identify a pod."""
    return ObjectRef(pod.namespace, pod.name, pod.uid)
