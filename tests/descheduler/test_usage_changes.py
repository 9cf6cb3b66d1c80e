"""What moves change about the usage of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from builders import pod_metrics
from descheduler.cycling import Run, a_town, another_candidate_once, crowd, rules
from executing.double import a_task
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.usage_samples import UsageChange
from restow.descheduler import cycles
from restow.executing.history import UsageChanges
from restow.executing.task import Evicted, Landed, LandingMatch, Outcome, Settled
from restow.kube.duration import HOUR, SECOND

TASK = structs.replace(a_task("web-0", candidates=["b"]), used={"cpu": 5, "memory": 7})


def noted(*outcomes: Outcome) -> tuple[UsageChange, ...]:
    changes = UsageChanges(lambda: 1000.0)
    for each in outcomes:
        changes.note(each)
    return changes.now()


def test_a_pod_is_missed_where_it_was_and_found_where_its_replacement_is() -> None:
    found = noted(Evicted(TASK), Landed(TASK, "new", "c", LandingMatch.PREDICTED), Settled(TASK))
    at = 1000 * SECOND
    assert found == (
        UsageChange("a", at, {"cpu": -5, "memory": -7}),
        UsageChange("c", at, {"cpu": 5, "memory": 7}),
    )


def test_nothing_is_kept_of_a_pod_whose_usage_nobody_goes_by() -> None:
    assert noted(Evicted(a_task("web-0"))) == ()


def test_what_every_figure_shows_by_now_is_forgotten() -> None:
    now = 1000.0
    changes = UsageChanges(lambda: now)
    changes.note(Evicted(TASK))
    now += 23 * HOUR / SECOND
    assert changes.now()
    now += 2 * HOUR / SECOND
    assert not changes.now()


@pytest.mark.usefixtures("without_threads")
def test_the_next_plan_of_a_cycle_and_the_next_cycle_know_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[Sequence[UsageChange]] = []
    decide = cycles.decide

    def listening(cluster: ClusterSnapshot, *args: Any, **options: Any) -> Any:
        known.append(cluster.usage_changes)
        return decide(cluster, *args, **options)

    monkeypatch.setattr(cycles, "decide", listening)
    pods = [*crowd("web"), *crowd("api")]
    usage = [pod_metrics(each["metadata"]["name"], cpu="250m") for each in pods]
    town = a_town(*pods, land=another_candidate_once()).put(*usage)
    Run(town).perform(rules(), times=2)
    assert known[0] == ()
    assert {each.node for each in known[1]} > {"n0"}
    assert known[-1][: len(known[1])] == known[1], "a cycle does not forget what the one before has moved"
    assert sum(each.amounts["cpu"] for each in known[-1]) == 0, "every pod that has left has come to another node"
