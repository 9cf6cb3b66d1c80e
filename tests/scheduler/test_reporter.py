"""What people see of a scheduler: events in kube-scheduler's words, counted attempts, lines of the log."""

from __future__ import annotations

import io

import pytest

from restow.client.events import Occurrence, Regarding
from restow.client.objects import ObjectRef
from restow.daemon.logs import Log
from restow.scheduler.attempts import Attempt, Result
from restow.scheduler.reporter import SchedulerMetrics, SchedulerReporter, shortened

POD = ObjectRef("dev", "web-1", "u1")
VICTIM = ObjectRef("dev", "old-1", "u2")
ABOUT = Regarding("Pod", "web-1", "dev", "u1")


class Heard:
    """Whatever a reporter says."""

    def __init__(self, verbosity: int = 0) -> None:
        self.stream = io.StringIO()
        self.occurrences: list[Occurrence] = []
        self.metrics = SchedulerMetrics()
        self.reporter = SchedulerReporter(Log(self.stream, verbosity=verbosity), self.metrics, {"mine": self})

    def record(self, occurrence: Occurrence, /) -> None:
        self.occurrences.append(occurrence)

    def counts(self, line: str) -> bool:
        return line in self.metrics.text().splitlines()


def an_attempt(result: Result, **more: object) -> Attempt:
    told = {"pod": POD, "profile": "mine", "number": 2, "deciding": 0.001, "lasted": 0.01, "waited": 3.0}
    return Attempt(result=result, **{**told, **more})  # type: ignore[arg-type]


def test_a_pod_that_was_bound() -> None:
    heard = Heard(verbosity=2)

    heard.reporter.attempted(an_attempt(Result.SCHEDULED, node="n1"))

    note = "Successfully assigned dev/web-1 to n1"
    assert heard.occurrences == [Occurrence(ABOUT, "Scheduled", "Binding", note)]
    assert '"Successfully bound pod to node" pod="dev/web-1" node="n1"' in heard.stream.getvalue()
    assert heard.counts('scheduler_schedule_attempts_total{result="scheduled",profile="mine"} 1')
    assert heard.counts('scheduler_pod_scheduling_sli_duration_seconds_sum{attempts="2"} 3')
    assert heard.counts("scheduler_preemption_attempts_total 0")


def test_a_pod_that_fits_nowhere() -> None:
    heard = Heard()
    message = "0/1 nodes are available: 1 Insufficient cpu."

    heard.reporter.attempted(an_attempt(Result.UNSCHEDULABLE, message=message, tried_preemption=True))

    assert heard.occurrences == [Occurrence(ABOUT, "FailedScheduling", "Scheduling", message, "Warning")]
    assert heard.stream.getvalue() == ""
    assert heard.counts('scheduler_schedule_attempts_total{result="unschedulable",profile="mine"} 1')
    assert heard.counts("scheduler_preemption_attempts_total 1")
    assert heard.counts("scheduler_pod_scheduling_attempts_count 0")


def test_an_error_is_logged_whatever_the_verbosity() -> None:
    heard = Heard()

    heard.reporter.attempted(an_attempt(Result.ERROR, message="no answer"))

    assert '"Error scheduling pod; retrying" err="no answer" pod="dev/web-1"' in heard.stream.getvalue()


def test_victims_are_told_for_whom_they_go() -> None:
    heard = Heard()

    heard.reporter.preempted(POD, "mine", "n1", [VICTIM])

    assert heard.occurrences == [
        Occurrence(
            Regarding("Pod", "old-1", "dev", "u2"),
            "Preempted",
            "Preempting",
            "Preempted by pod u1 on node n1",
            related=ABOUT,
        )
    ]
    assert heard.counts('scheduler_preemption_victims_bucket{le="1"} 1')


@pytest.mark.parametrize(
    ("message", "told"),
    [
        pytest.param("x" * 1024, "x" * 1024, id="as long as it may be"),
        pytest.param("x" * 1025, "x" * 1020 + " ...", id="longer"),
        pytest.param("é" * 600, "é" * 510 + " ...", id="of letters of two bytes"),
    ],
)
def test_a_note_is_as_long_as_an_event_takes(message: str, told: str) -> None:
    assert shortened(message) == told


def test_nothing_is_recorded_for_a_profile_that_is_not_ours() -> None:
    heard = Heard()
    heard.reporter.bound(POD, "other", "n1")
    assert heard.occurrences == []
