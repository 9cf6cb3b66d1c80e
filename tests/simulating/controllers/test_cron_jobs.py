"""CronJobs make a Job whenever one is due, in their time zone, and keep only the last few."""

from __future__ import annotations

import pytest

from restow.kube.manifests import manifest_of
from restow.kube.timestamps import format_time, parse_time
from restow.simulating.controllers.cron_jobs import read_schedule
from restow.simulating.controllers.jobs import condition_of
from restow.simulating.kubelets import EXIT_CODE, RUN_FOR
from simulating.manifests import a_template
from simulating.scenes import Scene


def nightly(schedule="*/10 * * * *", run="10s", code="0", **spec):
    """A CronJob."""
    template = a_template("nightly", restartPolicy="Never")
    template["metadata"]["annotations"] = {RUN_FOR: run, EXIT_CODE: code}
    job = {"spec": {"template": template, "backoffLimit": 0}}
    metadata = {"name": "nightly", "namespace": "default"}
    return manifest_of(
        {"kind": "CronJob", "metadata": metadata, "spec": {"schedule": schedule, "jobTemplate": job} | spec}
    )


def created(cron, minutes):
    """The cluster after a while, and the minutes at which Jobs came."""
    scene = Scene()
    times = []

    def look(event):
        if event.old is None:
            times.append(event.new.metadata.creation_timestamp[11:16])

    scene.store.subscribe("Job", look)
    scene.store.apply(cron)
    scene.run(minutes * 60)
    return scene, times


def test_a_job_comes_whenever_one_is_due():
    """Named after the minute that it was due in; the last three that succeeded are kept."""
    scene, times = created(nightly(), 65)
    assert times == ["00:10", "00:20", "00:30", "00:40", "00:50", "01:00"]
    kept = [job.metadata.name for job in scene.store.list("Job")]
    assert kept == [f"nightly-{parse_time(f'2026-01-01T{time}:00Z') // 60_000_000_000}" for time in times[-3:]]
    status = scene.get("CronJob", "nightly").status
    assert (status.last_schedule_time, status.active) == ("2026-01-01T01:00:00Z", None)
    assert status.last_successful_time.startswith("2026-01-01T01:00:1")
    assert scene.clock.is_quiet


def test_of_those_that_failed_one_is_kept():
    """As ``failedJobsHistoryLimit`` says."""
    scene, times = created(nightly(code="1"), 45)
    assert len(times) == 4
    assert [bool(condition_of(job, "Failed")) for job in scene.store.list("Job")] == [True]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("Allow", ["00:10", "00:20", "00:30", "00:40"]),
        ("Forbid", ["00:10", "00:25", "00:40"]),
        ("Replace", ["00:10", "00:20", "00:30", "00:40"]),
    ],
)
def test_jobs_that_overlap_are_allowed_left_out_or_replaced(policy, expected):
    """What was left out begins when the one before has ended, as long as nothing else is due."""
    scene, times = created(nightly(run="15m", concurrencyPolicy=policy), 44)
    assert times == expected
    active = scene.get("CronJob", "nightly").status.active
    assert len(active) == (2 if policy == "Allow" else 1)


def test_what_begins_too_late_does_not_begin():
    """``startingDeadlineSeconds`` after it was due."""
    _, times = created(nightly(run="15m", concurrencyPolicy="Forbid", startingDeadlineSeconds=60), 44)
    assert times == ["00:10", "00:30"]


def test_a_suspended_one_makes_up_for_the_last_time_only():
    """When it goes on."""
    scene, _ = created(nightly(suspend=True), 35)
    assert scene.store.list("Job") == []
    scene.store.apply(nightly(suspend=False))
    scene.run(30)
    assert scene.get("CronJob", "nightly").status.last_schedule_time == "2026-01-01T00:30:00Z"
    assert len(scene.store.list("Job")) == 1


def test_a_schedule_that_cannot_be_read_starts_nothing():
    """And keeps nobody else from working."""
    assert created(nightly(schedule="tomorrow"), 30)[1] == []


@pytest.mark.parametrize(
    ("text", "zone", "now", "last", "following"),
    [
        ("0 3 * * *", None, "2026-01-02T00:00:00Z", "2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z"),
        ("0 3 * * *", "Asia/Shanghai", "2026-01-02T00:00:00Z", "2026-01-01T19:00:00Z", "2026-01-02T19:00:00Z"),
        ("@hourly", None, "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T01:00:00Z"),
        ("@every 90m", None, "2026-01-01T02:00:00Z", "2026-01-01T01:30:00Z", "2026-01-01T03:00:00Z"),
    ],
)
def test_schedules_are_read_in_their_time_zone(text, zone, now, last, following):
    """The last time counts that is not in the future."""
    schedule, since = read_schedule(text, zone), parse_time("2026-01-01T00:00:00Z")
    assert format_time(schedule.last(since, parse_time(now))) == last
    assert format_time(schedule.next(since, parse_time(now))) == following


@pytest.mark.parametrize(
    ("text", "zone"),
    [("", None), ("* * * * * *", None), ("61 * * * *", None), ("0 0 30 2 *", None), ("@daily", "Mars")],
)
def test_what_is_no_schedule_is_an_error(text, zone):
    """Also one that is never due, and a zone that nobody knows."""
    with pytest.raises(ValueError, match=r"schedule|zone"):
        read_schedule(text, zone)
