"""What a history comes to: counts by strategy and workload, balance over time, and the same in a table."""

from __future__ import annotations

import msgspec
import pytest

from history.records import a_cycle, a_move
from restow.reporting.history_result import HistoryReport, history_report
from restow.reporting.history_table import print_history
from restow.reporting.terminal import shown


@pytest.fixture
def found() -> HistoryReport:
    moves = [
        a_move("a", 10.0, "moved", replacement="a2", landed="n2", landing="target", landed_at=11.0, ready_at=14.0),
        a_move("a2", 20.0, "moved", landed="n3", landing="other", landed_at=21.0, ready_at=30.0),
        a_move("b", 30.0, landed="n4", landing="missed", message="b2 was not ready within 5m", workload="Deployment/b"),
        a_move("c", 40.0, "dropped", code="Gone", strategy="LowNodeUtilization", workload=""),
    ]
    cycles = [
        a_cycle(5.0, 6.0),
        a_cycle(15.0, 16.0, result="failed", spread={}),
        a_cycle(25.0, 26.0, spread={"cpu": (0.2, 0.1)}),
    ]
    return history_report("restow.db", 0.0, 3600.0, cycles, moves)


def test_moves_are_counted_by_their_results(found):
    moves = found.moves
    assert (moves.evicted, moves.on_target, moves.on_other, moves.missed, moves.not_ready) == (3, 1, 1, 1, 1)
    assert (moves.again, moves.dropped, moves.planned) == (1, 1, 0)
    assert (found.cycles.total, found.cycles.done, found.cycles.failed) == (3, 2, 1)


def test_balance_is_from_before_the_first_cycle_to_after_the_last(found):
    assert [(each.resource, each.before, each.after) for each in found.spread] == [("cpu", 0.3, 0.1)]


def test_the_course_of_the_balance_has_each_cycle_that_was_done(found):
    assert [(each.cpu, each.memory) for each in found.balance] == [(0.2, None), (0.1, None)]


def test_of_many_cycles_some_are_shown_and_the_last_one():
    cycles = [a_cycle(float(at), at + 0.5, spread={"cpu": (0.5, at / 1000)}) for at in range(1000)]
    course = history_report("restow.db", 0.0, 2000.0, cycles, []).balance
    assert len(course) == 250
    assert [each.cpu for each in course[-2:]] == [0.995, 0.999]


def test_groups_have_the_most_evictions_first(found):
    assert [(each.name, each.moves.evicted) for each in found.strategies] == [
        ("RemoveDuplicates", 3),
        ("LowNodeUtilization", 0),
    ]
    assert [(each.name, each.median_seconds_to_ready) for each in found.workloads] == [
        ("shop/Deployment/web", 7.0),
        ("shop/Deployment/b", None),
        ("shop/c", None),
    ]


def test_the_document_reads_back(found):
    assert msgspec.json.decode(msgspec.json.encode(found), type=HistoryReport) == found
    assert [each.pod for each in found.listed] == ["c", "b", "a2", "a"]


def test_the_table(found, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    lines = shown(lambda console: print_history(found, console)).splitlines()
    assert lines[0] == "history  restow.db   1970-01-01T00:00:00Z to 1970-01-01T01:00:00Z"
    assert lines[1] == "cycles   3, of which 1 failed"
    assert lines[2] == "balance  CPU 0.30 -> 0.10 (spread of the nodes' requested shares)"
    assert (
        lines[4]
        == "3 pods moved: 1 to their targets, 1 to other good nodes, 1 missed, 1 not seen to be ready, 1 moved again"
    )
    assert " shop/Deployment/web  2      1       1      0       0        1      0     7.0 s" in lines
    assert " 01-01 00:00:30  shop/b   RemoveDuplicates    n1    n4  not ready, missed" in lines
    assert " 01-01 00:00:40  shop/c   LowNodeUtilization  n1    n2  dropped (Gone)" in lines


def test_nothing_was_done():
    text = shown(lambda console: print_history(history_report("f", 0.0, 1.0, [], []), console))
    assert "No pod was moved" in text
    planned = history_report("f", 0.0, 1.0, [], [a_move("a", 1.0, "planned")])
    assert "No pod was moved; 1 move planned" in shown(lambda console: print_history(planned, console))
