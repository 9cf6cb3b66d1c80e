"""The CronJob controller: it creates a Job each time one is due, and keeps only the last few that have ended.

Of several missed times only the last one is made up for, unless ``startingDeadlineSeconds`` passed;
``concurrencyPolicy`` decides what happens to a Job that still runs. Source: the CronJob controller, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import structs

from restow.kube.manifests import CronJob, Job, Metadata
from restow.kube.objects import OwnerReference
from restow.kube.timestamps import SECOND, format_time, parse_time
from restow.simulating.controllers.claiming import reference_to
from restow.simulating.controllers.cron_schedules import CronSchedule, read_schedule
from restow.simulating.controllers.jobs import condition_of
from restow.simulating.indexes import Key, key_of
from restow.simulating.simulation import VirtualCluster
from restow.simulating.store import ObjectEvent
from restow.simulating.work_queue import WorkQueue

KIND: Final = "CronJob"
SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_MINUTE: Final = 60 * SECOND


def start(simulation: VirtualCluster) -> None:
    """Start the controller."""
    CronJobController(simulation)


class CronJobController:
    """Syncs one CronJob at a time."""

    def __init__(self, simulation: VirtualCluster) -> None:
        self._store, self._clock = simulation.store, simulation.clock
        self._queue: WorkQueue[Key] = WorkQueue(simulation.clock, self._sync, recurring=True)
        self._store.subscribe(KIND, lambda event: self._queue.add(key_of(event.new or event.old)))
        self._store.subscribe("Job", self._on_job_event)

    def _on_job_event(self, event: ObjectEvent) -> None:
        owner = (event.new or event.old).metadata.controller
        if owner and owner.kind == KIND:
            self._queue.add(((event.new or event.old).metadata.namespace, owner.name))

    def _sync(self, key: Key) -> None:
        found: CronJob | None = self._store.get(KIND, *key)
        if found is None or found.metadata.is_terminating:
            return
        jobs: Sequence[Job] = self._store.owned(found.metadata.uid, "Job")
        self._delete_old(found, jobs)
        active = [job for job in jobs if condition_of(job, "Complete", "Failed") is None]
        found = self._noted(found, active, jobs)
        if found.spec.suspend:
            return
        try:
            schedule = read_schedule(found.spec.schedule, found.spec.time_zone)
        except ValueError:
            return
        self._start_if_due(found, schedule, active)
        since = _since(self._store.get(KIND, *key))
        self._queue.add_after(key, schedule.next(since, self._clock.now) - self._clock.now)

    def _start_if_due(self, found: CronJob, schedule: CronSchedule, active: Sequence[Job]) -> None:
        now, since = self._clock.now, _since(found)
        deadline = found.spec.starting_deadline_seconds
        earliest = since if deadline is None else max(since, now - deadline * SECOND)
        due = schedule.last(since, now)
        if due is None or due < earliest or self._has_begun(found, due):
            return
        if active and found.spec.concurrency_policy == "Forbid":
            return
        if found.spec.concurrency_policy == "Replace":
            for job in active:
                self._store.delete("Job", *key_of(job))
            active = []
        self._note_start(found, due, [*active, self._create(found, due)])

    def _has_begun(self, found: CronJob, due: int) -> bool:
        return self._store.get("Job", found.metadata.namespace, _job_name(found, due)) is not None

    def _create(self, found: CronJob, due: int) -> Job:
        given = found.spec.job_template
        metadata = Metadata(
            name=_job_name(found, due),
            namespace=found.metadata.namespace,
            labels=given.metadata.labels,
            annotations={**(given.metadata.annotations or {}), SCHEDULED: format_time(due)},
            owner_references=(reference_to(KIND, found),),
        )
        created: Job = self._store.create(Job(metadata, given.spec))
        return created

    def _note_start(self, found: CronJob, due: int, active: Sequence[Job]) -> None:
        status = structs.replace(found.status, active=_references(active), last_schedule_time=format_time(due))
        self._store.update(structs.replace(found, status=status))

    def _noted(self, found: CronJob, active: Sequence[Job], jobs: Sequence[Job]) -> CronJob:
        """The CronJob with the Jobs that are active, and when the last one succeeded."""
        ends = [job.status.completion_time or "" for job in jobs if condition_of(job, "Complete")]
        last = max([*ends, found.status.last_successful_time or ""]) or None
        status = structs.replace(found.status, active=_references(active), last_successful_time=last)
        written: CronJob = self._store.update(structs.replace(found, status=status))
        return written

    def _delete_old(self, found: CronJob, jobs: Sequence[Job]) -> None:
        limits = {
            "Complete": found.spec.successful_jobs_history_limit,
            "Failed": found.spec.failed_jobs_history_limit,
        }
        for kind, limit in limits.items():
            ended = [job for job in jobs if condition_of(job, kind)]
            ended.sort(key=lambda job: (job.status.start_time or "", job.metadata.name))
            for job in ended[: max(0, len(ended) - limit)]:
                self._store.delete("Job", *key_of(job))


def _since(found: CronJob) -> int:
    """From when on it can be due: since the last time, or since it is there."""
    return parse_time(found.status.last_schedule_time or found.metadata.creation_timestamp or "")


def _job_name(found: CronJob, due: int) -> str:
    return f"{found.metadata.name}-{due // _MINUTE}"


def _references(jobs: Sequence[Job]) -> tuple[OwnerReference, ...] | None:
    return tuple(OwnerReference("Job", job.metadata.name, job.metadata.uid) for job in jobs) or None
