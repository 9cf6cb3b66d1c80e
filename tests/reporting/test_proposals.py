"""Several moves as one in every output: what is done, what is not, and how many pods stay by one refusal."""

from __future__ import annotations

import json
from html import unescape

import pytest
from msgspec import structs

from builders.plans import a_move, a_pod, a_refusal, a_report, a_steered_move
from reporting.test_table import printed, printed_wide
from restow.descheduling.plan import MadeProposal, RefusedProposal
from restow.reporting.answer import made_together, not_done, obstacles, stays
from restow.reporting.forms import Report
from restow.reporting.html.page import render_html
from restow.reporting.json import render_json
from restow.reporting.strategies import wanted

EMPTY_1 = MadeProposal("empty node-1", 2, "certain", 1.0)
MOVES = tuple(
    structs.replace(a_steered_move(f"a/{each}", ("node-1", "node-4")), plugin="High", proposal=EMPTY_1)
    for each in (1, 2)
)
#: Of three pods on node-2 one has no place, and of two on node-3 one has no budget.
REFUSALS = (
    structs.replace(
        a_refusal("a/3", "placement", "NoFit", "no room; so High does not empty node-2", plugin="High"),
        proposal=RefusedProposal("empty node-2", (a_pod("a/4"), a_pod("a/5"))),
    ),
    structs.replace(
        a_refusal("a/6", "budget", "DisruptionBudget", "no budget; so High does not empty node-3", plugin="High"),
        proposal=RefusedProposal("empty node-3", (a_pod("a/7"),)),
    ),
)
REPORT = a_report(MOVES, REFUSALS)
OUTPUTS = (printed, printed_wide, render_html)


def test_pods_that_stay_with_another_are_counted_as_candidates() -> None:
    assert stays(REPORT.plan) == "5 candidates refused (2 refusals)"
    assert wanted(REPORT.plan) == ["High 2 of 7"]
    assert obstacles(REPORT.plan) == ["Of them, 2 have no disruption budget left and 3 have no acceptable placement."]


def test_what_is_done_as_one_and_what_is_not() -> None:
    assert made_together(REPORT.plan) == "empty node-1 (2 moves)"
    assert not_done(REPORT.plan) == "empty node-2 (2 more pods stay), empty node-3 (1 more pod stays)"


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_output_tells_what_is_done_as_one(output: object) -> None:
    assert callable(output)
    assert "empty node-1 (2 moves)" in unescape(output(REPORT))


@pytest.mark.parametrize("output", OUTPUTS)
def test_every_output_tells_how_many_pods_stay_by_one_refusal(output: object) -> None:
    assert callable(output)
    told = unescape(output(REPORT))
    assert "2 more pods stay" in told or "a/3 and 2 more" in told


def test_single_moves_say_nothing_of_proposals() -> None:
    plain = a_report((a_move("a/1", ("node-1", "node-4")),), (a_refusal("a/2", "limit", "X", "x"),))
    assert (made_together(plain.plan), not_done(plain.plan)) == ("", "")
    assert "proposal" not in document(plain)["moves"][0]
    assert "proposal" not in document(plain)["refusals"][0]


def test_the_document_names_all_pods_that_stay() -> None:
    (first, _) = document(REPORT)["refusals"]
    assert [each["name"] for each in first["proposal"]["alsoStaying"]] == ["4", "5"]
    assert document(REPORT)["moves"][0]["proposal"] == {
        "purpose": "empty node-1",
        "moves": 2,
        "certainty": "certain",
        "probability": 1.0,
        "waits": False,
    }


def document(report: Report) -> dict[str, list[dict[str, dict[str, object]]]]:
    found: dict[str, list[dict[str, dict[str, object]]]] = json.loads(b"".join(render_json(report.plan)))
    return found
