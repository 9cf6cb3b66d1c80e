"""The CronJob controller: it creates a Job each time one is due, and keeps only the last few that have ended.

A schedule has five fields, or is a word such as ``@hourly``, in a time zone; or ``@every 90m``. Of several missed times
only the last one is made up for, unless ``startingDeadlineSeconds`` passed; ``concurrencyPolicy`` decides what happens
to a Job that still runs. Sources: the CronJob controller, Kubernetes 1.36, and robfig/cron's ParseStandard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from restow.kube.duration import parse_duration
from restow.kube.manifests import CronJob, Job, Metadata
from restow.kube.objects import OwnerReference
from restow.kube.timestamps import SECOND, format_time, parse_time
from restow.simulating.api_server.changes import with_status
from restow.simulating.api_server.indexes import Key, key_of
from restow.simulating.api_server.store import ObjectEvent
from restow.simulating.controllers.jobs import condition_of
from restow.simulating.controllers.owned_pods import reference_to
from restow.simulating.virtual_cluster import ObjectQueue, VirtualCluster

_WORDS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "
_FIELDS: Final = 5
#: No schedule has longer fields; more digits than Python reads would be an error of another kind.
_LONGEST: Final = 500


@dataclass(slots=True, frozen=True)
class CronSchedule:
    """The times at which a CronJob is due; times are nanoseconds since the epoch."""

    #: Five fields; empty for a schedule with a fixed interval in nanoseconds.
    fields: str
    zone: tzinfo
    interval: int = 0

    def last(self, since: int, now: int) -> int | None:
        """The last time after ``since``, and at ``now`` at the latest; None if there is none."""
        if self.interval:
            times = (now - since) // self.interval
            return since + times * self.interval if times > 0 else None
        # What is searched for lies before the given moment.
        found = _nanoseconds(next(CronSim(self.fields, self._moment(now + SECOND), reverse=True)))
        return found if since < found <= now else None

    def next(self, since: int, now: int) -> int:
        """The first time after ``now``; counted from ``since`` where it is due in intervals."""
        if self.interval:
            return since + max(1, (now - since) // self.interval + 1) * self.interval
        return _nanoseconds(next(CronSim(self.fields, self._moment(now))))

    def _moment(self, time: int) -> datetime:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=time // SECOND)).astimezone(self.zone)


def read_schedule(text: str, zone: str | None) -> CronSchedule:
    """The schedule of a text in a time zone (None: UTC); ValueError if one of them cannot be read, or is never due."""
    try:
        known = ZoneInfo(zone) if zone else UTC
    except (KeyError, OSError, ValueError) as error:
        raise ValueError(f"unknown time zone {zone}") from error
    if text.startswith(_EVERY):
        interval = parse_duration(text.removeprefix(_EVERY))
        # Source: robfig/cron's Every, which knows no fractions of seconds.
        return CronSchedule("", known, max(interval // SECOND, 1) * SECOND)
    fields = _WORDS.get(text, text)
    if len(fields.split()) != _FIELDS or len(fields) > _LONGEST:
        raise ValueError(f'"{text}" is no schedule: write five fields, such as 0 3 * * *')
    schedule = CronSchedule(fields, known)
    try:
        schedule.next(0, 0)
    except (CronSimError, StopIteration, ValueError) as error:
        raise ValueError(f'"{text}" is no schedule: {error or "it is never due"}') from error
    return schedule


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp()) * SECOND


KIND: Final = "CronJob"
SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_MINUTE: Final = 60 * SECOND


class CronJobController:
    """Syncs one CronJob at a time."""

    def __init__(self, simulation: VirtualCluster) -> None:
        self._store, self._clock = simulation.store, simulation.clock
        self._queue = ObjectQueue(simulation.clock, self._sync, recurring=True)
        self._store.subscribe(KIND, self._queue.on_event)
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
        self._store.update(with_status(found, active=_references(active), last_schedule_time=format_time(due)))

    def _noted(self, found: CronJob, active: Sequence[Job], jobs: Sequence[Job]) -> CronJob:
        """The CronJob with the Jobs that are active, and when the last one succeeded."""
        ends = [job.status.completion_time or "" for job in jobs if condition_of(job, "Complete")]
        last = max([*ends, found.status.last_successful_time or ""]) or None
        written: CronJob = self._store.update(with_status(found, active=_references(active), last_successful_time=last))
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
