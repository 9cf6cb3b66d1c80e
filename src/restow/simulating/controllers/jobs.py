"""The controller of Jobs: pods until enough of them have succeeded, or too many have failed.

Which pods are created and deleted says ``workloads.jobs``, what each counts for, and what ends a Job,
``job_accounting``. Every pod is held by a finalizer until it is counted, so none is counted twice or lost. What happens
to pods is looked at a second later, all that happened in between at once. Source: the Job controller, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from restow.kube.manifests import Job, Pod, PodTemplate
from restow.kube.manifests.cluster_objects import TemplateMetadata
from restow.kube.objects import Condition
from restow.kube.timestamps import SECOND, parse_time
from restow.simulating.api_server.changes import with_metadata, with_status
from restow.simulating.api_server.indexes import Key, key_of, selector_of
from restow.simulating.api_server.store import FOREGROUND, ObjectEvent
from restow.simulating.controllers.job_accounting import (
    COMPLETED,
    FAILURE,
    INDEX,
    SUCCESS,
    TRACKING,
    JobEnding,
    JobTally,
    PodVerdict,
    as_read,
    back_off,
    counts_as_failed,
    deadline_in,
    ending_of,
    finished_at,
    index_of,
    is_complete,
    is_held,
    notes,
    tally,
    to_be_replaced,
    verdict,
    wait_after,
    with_counts,
)
from restow.simulating.controllers.owned_pods import claim, controlled, pod_from
from restow.simulating.virtual_cluster import ObjectQueue, VirtualCluster
from restow.workloads.controllers import ControlledPod, NewPod
from restow.workloads.jobs import job as actions_of

KIND: Final = "Job"
#: After how long a Job is looked at whose pods or status have changed.
_BATCH: Final = SECOND
_FINISHED: Final = frozenset(("Complete", "Failed"))


@dataclass(slots=True, frozen=True)
class _Failures:
    """How many pods of a Job have failed since the last success, and when the last of them did."""

    in_a_row: int = 0
    last: int = 0


def condition_of(job: Job, *kinds: str) -> Condition | None:
    """The condition of one of some types that is True."""
    return next((each for each in job.status.conditions or () if each.type in kinds and each.status == "True"), None)


class JobController:
    """Syncs one Job at a time."""

    def __init__(self, simulation: VirtualCluster) -> None:
        self._store, self._clock = simulation.store, simulation.clock
        self._queue = ObjectQueue(simulation.clock, self._sync, kind=KIND)
        self._failures: dict[str, _Failures] = {}
        self._store.subscribe(KIND, self._on_event)
        self._store.subscribe("Pod", self._on_pod_event)

    def _on_event(self, event: ObjectEvent) -> None:
        old, new = event.old, event.new
        if new is None:
            self._failures.pop(old.metadata.uid, None)
            for pod in self._store.owned(old.metadata.uid, "Pod"):
                self._release_if_lost(pod)
        if old is not None and new is not None and old.metadata.generation == new.metadata.generation:
            self._queue.add_after(key_of(new), _BATCH)
        else:
            self._queue.add(key_of(new or old))

    def _on_pod_event(self, event: ObjectEvent) -> None:
        for key in self._queue.controllers_in(event):
            self._queue.add_after(key, _BATCH)
        if event.new is not None and is_held(event.new):
            self._release_if_lost(event.new)

    def _release_if_lost(self, pod: Pod) -> None:
        """Release a pod whose Job is gone."""
        owner = pod.metadata.controller
        if owner is None or self._store.get(KIND, pod.metadata.namespace, owner.name) is None:
            key = key_of(pod)
            self._clock.after(0, lambda: self._release(self._store.get("Pod", *key)))

    def _release(self, pod: Pod | None) -> None:
        if pod is not None and is_held(pod):
            others = tuple(each for each in pod.metadata.finalizers or () if each != TRACKING)
            self._store.update(with_metadata(pod, finalizers=others or None))

    def _sync(self, key: Key) -> None:
        job: Job | None = self._store.get(KIND, *key)
        if job is None:
            return
        pods = claim(self._store, KIND, job, selector_of(job))
        if condition_of(job, *_FINISHED):
            self._after_the_end(job, pods)
            return
        seen = tally(job, pods)
        failures = self._failures_with(job, seen)
        job = self._begun(job)
        ending = ending_of(job, seen, self._clock.now)
        if ending is not None:
            active = 0
            for pod in seen.active:
                self._store.delete("Pod", *key_of(pod))
        else:
            active = len(seen.active) if job.metadata.is_terminating else self._manage(job, seen, failures)
            ending = COMPLETED if is_complete(job, seen, active) else None
            if ending is None and not job.metadata.is_terminating:
                job = self._with_suspension(job)
        if self._count(job, seen, ending, active):
            self._failures[job.metadata.uid] = failures
        late = deadline_in(job, self._clock.now)
        if late:
            self._queue.add_after(key, late)

    def _after_the_end(self, job: Job, pods: Sequence[Pod]) -> None:
        for pod in pods:
            self._release(pod)
        ttl, end = job.spec.ttl_seconds_after_finished, condition_of(job, *_FINISHED)
        if ttl is None or end is None:
            return
        left = parse_time(end.last_transition_time or "") + ttl * SECOND - self._clock.now
        if left > 0:
            self._queue.add_after(key_of(job), left)
        else:
            self._store.delete(KIND, *key_of(job), propagation=FOREGROUND)

    def _begun(self, job: Job) -> Job:
        """The Job since when it runs; one that is suspended does not."""
        if job.status.start_time is not None or job.spec.suspend:
            return job
        return with_status(job, start_time=self._clock.text)

    def _with_suspension(self, job: Job) -> Job:
        """The Job with its Suspended condition, if it was ever suspended; its time restarts when it resumes."""
        was = condition_of(job, "Suspended") is not None
        if job.spec.suspend and not was:
            job = with_status(job, start_time=None)
            return self._with_condition(job, "Suspended", "True", "JobSuspended")
        if was and not job.spec.suspend:
            job = with_status(job, start_time=self._clock.text)
            return self._with_condition(job, "Suspended", "False", "JobResumed")
        return job

    def _failures_with(self, job: Job, seen: JobTally) -> _Failures:
        """How many have failed since the last one that succeeded, with those that are not counted yet."""
        known = self._failures.get(job.metadata.uid) or _Failures()
        times = sorted(map(finished_at, seen.new_failed))
        if seen.new_succeeded:
            last_success = max(map(finished_at, seen.new_succeeded))
            times = [time for time in times if time > last_success]
            known = _Failures()
        return _Failures(known.in_a_row + len(times), times[-1]) if times else known

    def _manage(self, job: Job, seen: JobTally, failures: _Failures) -> int:
        """Create and delete pods, or after failures create them later; how many are active then."""
        now = structs.replace(job, status=with_counts(job, seen, seen.failed))
        pods = [pod for pod in seen.pods if verdict(job, pod) is PodVerdict.RUNS or pod.metadata.is_terminating]
        actions = actions_of(as_read(now), [_seen(pod) for pod in pods], self._clock.now)
        for each in actions.delete:
            # A surplus pod does not count.
            self._release(self._store.get("Pod", job.metadata.namespace, each.name))
            self._store.delete("Pod", job.metadata.namespace, each.name)
        if not actions.create:
            return len(seen.active) - len(actions.delete)
        replaced = to_be_replaced(job, seen)
        waits = [self._wait(job, failures, replaced.get(_index(new))) for new in actions.create]
        if min(waits) > 0:
            self._queue.add_after(key_of(job), max(min(waits), _BATCH))
            # The real controller reports 0 too, no matter what else is active.
            return 0
        created = [new for new, wait in zip(actions.create, waits, strict=True) if wait <= 0]
        for new in created:
            self._create(job, new.index, replaced.get(_index(new)))
        return len(seen.active) + len(created)

    def _wait(self, job: Job, failures: _Failures, replaced: Pod | None) -> int:
        """How long it takes until a pod may be created, in nanoseconds; ``replaced`` is the one of its index before."""
        if job.spec.backoff_limit_per_index is not None:
            return 0 if replaced is None else wait_after(replaced, self._clock.now)
        return back_off(failures.in_a_row, failures.last, self._clock.now)

    def _create(self, job: Job, index: int | None, replaced: Pod | None) -> None:
        given = job.spec.template
        metadata = TemplateMetadata(
            given.metadata.labels, given.metadata.annotations, (*(given.metadata.finalizers or ()), TRACKING)
        )
        if index is None:
            self._store.create(pod_from(PodTemplate(metadata, given.spec), KIND, job))
            return
        own = {INDEX: str(index)}
        spec = {**given.spec, "hostname": f"{job.metadata.name}-{index}"}
        pod = pod_from(PodTemplate(metadata, spec), KIND, job, labels=own, annotations=own | notes(job, replaced))
        self._store.create(with_metadata(pod, generate_name=f"{job.metadata.name}-{index}-"))

    def _count(self, job: Job, seen: JobTally, ending: JobEnding | None, active: int) -> bool:
        """Write the status with all that has ended and release the pods that count; whether it was written.

        The API server refuses a status with more ready pods than active ones. That is what the controller writes while
        it waits with a new pod and others run, so nothing is counted before the wait is over.
        """
        released = self._countable(job, seen, ending)
        failed = job.status.failed + sum(self._is_failure(job, pod, ending) for pod in released)
        status = with_counts(job, seen, failed)
        now = [pod for pod in self._store.owned(job.metadata.uid, "Pod") if not pod.is_over]
        status = structs.replace(
            status,
            active=active,
            ready=sum(pod.ready_since is not None and pod.is_active for pod in now),
            terminating=sum(pod.metadata.is_terminating for pod in now),
        )
        if status.ready > status.active:
            return False
        self._store.update(self._ended(structs.replace(job, status=status), ending))
        for pod in released:
            self._release(self._store.get("Pod", *key_of(pod)))
        return True

    def _countable(self, job: Job, seen: JobTally, ending: JobEnding | None) -> list[Pod]:
        """The held pods that are counted now: all of them where the Job ends, else those that have ended.

        A pod whose index is tried again is held until the new one is there, which takes over how often it failed.
        """
        held = [pod for pod in seen.pods if is_held(pod) and self._store.get("Pod", *key_of(pod)) is not None]
        if ending is not None or job.metadata.is_terminating:
            return held
        waiting = {pod.metadata.uid for pod in to_be_replaced(job, seen).values()}
        return [pod for pod in held if verdict(job, pod) is not PodVerdict.RUNS and pod.metadata.uid not in waiting]

    @staticmethod
    def _is_failure(job: Job, pod: Pod, ending: JobEnding | None) -> bool:
        """Whether a pod that is counted is a failure: a Job that fails takes down all that have not ended."""
        if pod.status.phase == "Succeeded":
            return False
        taken_down = ending is not None and ending.type == FAILURE
        return (taken_down or verdict(job, pod) is not PodVerdict.RUNS) and counts_as_failed(job, pod)

    def _ended(self, job: Job, ending: JobEnding | None) -> Job:
        """The Job that says that it has to end, and that it is over once the last of its pods is."""
        if ending is None:
            return job
        if condition_of(job, ending.type) is None:
            job = self._with_condition(job, ending.type, "True", ending.reason)
        if job.status.terminating:
            return job
        if ending.type == SUCCESS:
            job = with_status(job, completion_time=self._clock.text)
        return self._with_condition(job, "Complete" if ending.type == SUCCESS else "Failed", "True", ending.reason)

    def _with_condition(self, job: Job, kind: str, status: str, reason: str) -> Job:
        others = tuple(each for each in job.status.conditions or () if each.type != kind)
        conditions = (*others, Condition(kind, status, reason, self._clock.text))
        return with_status(job, conditions=conditions)


def _index(new: NewPod) -> int:
    """The index of a new pod; -1 for none."""
    return -1 if new.index is None else new.index


def _seen(pod: Pod) -> ControlledPod:
    return structs.replace(controlled(pod), index=index_of(pod))
