"""Job and CronJob, with the limits that end them."""

from __future__ import annotations

from msgspec import Struct

from restow.kube.manifests.metadata import Metadata, PodTemplate
from restow.kube.objects import Int32, Int64, LabelSelector, OwnerReference, SuccessPolicy
from restow.kube.objects import workloads as read


class JobSpec(read.JobSpec, frozen=True, rename="camel", omit_defaults=True):
    """Spec of a Job."""

    template: PodTemplate = PodTemplate()  # type: ignore[assignment]  # whole, not what decisions read
    selector: LabelSelector | None = None
    manual_selector: bool = False
    active_deadline_seconds: Int64 | None = None
    ttl_seconds_after_finished: Int32 | None = None
    max_failed_indexes: Int32 | None = None
    success_policy: SuccessPolicy | None = None


class JobStatus(read.JobStatus, frozen=True, rename="camel", omit_defaults=True):
    """Status of a Job."""

    active: Int32 = 0
    ready: Int32 = 0
    terminating: Int32 = 0
    start_time: str | None = None
    completion_time: str | None = None


class Job(Struct, frozen=True, omit_defaults=True):
    """A batch/v1 Job."""

    metadata: Metadata = Metadata()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplate(Struct, frozen=True, omit_defaults=True):
    """What the Jobs of a CronJob are made of."""

    metadata: Metadata = Metadata()
    spec: JobSpec = JobSpec()


class CronJobSpec(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Spec of a CronJob."""

    schedule: str = ""
    time_zone: str | None = None
    starting_deadline_seconds: Int64 | None = None
    concurrency_policy: str = "Allow"
    suspend: bool = False
    job_template: JobTemplate = JobTemplate()
    successful_jobs_history_limit: Int32 = 3
    failed_jobs_history_limit: Int32 = 1


class CronJobStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Status of a CronJob."""

    active: tuple[OwnerReference, ...] | None = None
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(Struct, frozen=True, omit_defaults=True):
    """A batch/v1 CronJob."""

    metadata: Metadata = Metadata()
    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()
