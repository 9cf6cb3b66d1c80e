"""For how long workloads had fewer ready pods than they want.

What is counted is disruption, not growth: the time begins when a workload that had all its pods loses one, and ends
when it has all of them again, or wants more than before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from restow.simulating.scenarios.observations import Observation, ObservedPod, PodKey, workload_of
from restow.simulating.scenarios.references import Reference


@dataclass(slots=True)
class _WorkloadHistory:
    """One workload as the run goes."""

    desired: int = 0
    ready: int = 0
    #: Whether it has had all the ready pods that it wants now.
    was_whole: bool = False
    since: int | None = None
    below: int = 0
    longest: int = 0

    def want(self, desired: int, time: int) -> None:
        if desired > self.desired:
            self.close(time)
            self.was_whole = False
        self.desired = desired

    def proceed(self, time: int) -> None:
        if self.ready >= self.desired:
            self.close(time)
            self.was_whole = True
        elif self.was_whole and self.since is None:
            self.since = time

    def close(self, time: int) -> None:
        if self.since is not None:
            self.below += time - self.since
            self.longest = max(self.longest, time - self.since)
            self.since = None


@dataclass(slots=True, frozen=True)
class WorkloadDisruption:
    """How long a workload had too few ready pods, in all and at most at a time, in nanoseconds."""

    below: int
    longest: int


@dataclass(slots=True)
class DisruptionTracker:
    """Follows all workloads of a run."""

    _histories: defaultdict[Reference, _WorkloadHistory] = field(default_factory=lambda: defaultdict(_WorkloadHistory))

    def take(self, observation: Observation, known: Mapping[PodKey, ObservedPod]) -> None:
        """Apply an observation, given the pods as they were before."""
        touched: dict[Reference, None] = {}
        for reference, desired in observation.desired.items():
            self._histories[reference].want(desired, observation.time)
            touched[reference] = None
        for key, new in observation.pods.items():
            for pod, change in ((known.get(key), -1), (new, 1)):
                workload = None if pod is None else workload_of(pod)
                if pod is not None and workload is not None and "ready" in pod.states:
                    self._histories[workload].ready += change
                    touched[workload] = None
        for reference in touched:
            self._histories[reference].proceed(observation.time)

    def finish(self, end: int) -> dict[Reference, WorkloadDisruption]:
        """Return the workloads that had too few pods at some time of a run that ended at ``end``."""
        for history in self._histories.values():
            history.close(end)
        return {
            name: WorkloadDisruption(each.below, each.longest) for name, each in self._histories.items() if each.below
        }
