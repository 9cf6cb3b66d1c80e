"""The report of a shadow: counts, scores and lists of one day, as a document and as a page."""

from __future__ import annotations

import msgspec
import pytest

from restow.policies.codes import Certainty
from restow.reporting.html.shadow import render_shadow
from restow.reporting.shadow_result import ShadowReport, shadow_report
from restow.shadowing.day import OwnMove, ShadowDay
from restow.shadowing.forecasts import Forecast, nothing_foretold
from shadowing.scenes import a_foreign_eviction

SURE = Forecast("n2", 1.0, 1, 1.0, 0.0, 0.0, Certainty.CERTAIN)
OPEN = Forecast("n2", 0.4, 3, 0.6, 0.4, 0.0, Certainty.POSSIBLE)


def a_day(**more: object) -> ShadowDay:
    again = a_foreign_eviction(SURE, node="n2", name="web-3")
    again.is_repeated, again.seconds_down = True, 2.5
    evictions = [
        a_foreign_eviction(SURE, node="n2"),
        a_foreign_eviction(OPEN, node="n1", name="web-2"),
        again,
        a_foreign_eviction(nothing_foretold("it had no <node>"), node="", name="db-0", workload="StatefulSet/db"),
    ]
    moves = {"uid-web-1": OwnMove(0.0, Certainty.CERTAIN), "other": OwnMove(9.0, Certainty.LIKELY)}
    return ShadowDay(0.0, 3_600.0, evictions, moves)


@pytest.fixture
def report() -> ShadowReport:
    return shadow_report(a_day(), "https://api:6443", "policy.yaml")


def test_each_eviction_has_one_outcome(report):
    counts = report.evictions
    assert (counts.total, counts.moved, counts.in_vain, counts.pending) == (4, 2, 1, 1)
    assert (counts.repeated, counts.downtimes, counts.seconds_down) == (1, 1, 2.5)
    assert [each.pod for each in report.listed] == ["db-0", "web-3", "web-2", "web-1"]


def test_own_moves_are_counted_by_certainty_and_compared(report):
    own = report.own_moves
    assert (own.total, own.certain, own.likely, own.possible, own.evicted_by_others) == (2, 1, 1, 0, 1)


def test_scores_are_by_certainty(report):
    found = {each.certainty: each for each in report.scores}
    assert list(found) == ["all", "certain or likely", "certain", "likely", "possible"]
    assert (found["all"].forecasts, found["all"].right, found["all"].brier) == (3, 2, 0.12)
    assert (found["certain or likely"].brier, found["likely"].brier) == (0.0, None)


def test_workloads_with_the_most_harm_come_first(report):
    assert [(each.name, each.evictions.total) for each in report.workloads] == [
        ("Deployment/web", 3),
        ("StatefulSet/db", 1),
    ]


def test_the_document_reads_back(report):
    assert msgspec.json.decode(msgspec.json.encode(report), type=ShadowReport) == report


def test_the_page_says_the_same_and_shows_no_markup_of_others(report):
    page = render_shadow(report)
    assert "Of 4 evictions 1 came back to their node, 1 left a pod pending" in page
    assert "none: it had no &lt;node&gt;" in page
    assert "moves, possible; n2 0.40 of 3 nodes" in page
    assert page.count("<tr>") == 1 + 2 + 1 + 4 + 1 + 4


def test_a_day_without_evictions():
    page = render_shadow(shadow_report(ShadowDay(0.0, 60.0), "https://api:6443", ""))
    assert "No pod was evicted by others; restow would have made 0 moves." in page
