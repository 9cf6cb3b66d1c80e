"""``restow explain pod`` on a terminal: the answer first, a handful of nodes, and what would help in a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from restow.descheduling.plan import Move, OutputMetadata, OwnerRef, PodRef
from restow.explaining.explanation import (
    LandingPlaces,
    Load,
    PodExplanation,
    Reason,
    Rejected,
    StageResult,
    Step,
    StrategyView,
    SuggestedChange,
)
from restow.reporting.explain_table import pod_sections

POD = PodRef("shop", "db-0", "uid")
GATES = (
    StageResult("evictor", True, "passes 10 of 10 checks"),
    StageResult("limit", True, "none set"),
    StageResult("budget", True, "no budget covers it"),
    StageResult("placement", False, "0 of 3 other nodes fit", "NoFit"),
)
WANTING = StrategyView(
    "P", "Low", wanted=True, before=False, reason="n1 is full", gates=GATES, refusal=Reason("placement", "NoFit", "no")
)
SILENT = StrategyView("P", "Dup", wanted=False, before=False, reason="")
STAYING = PodExplanation(
    metadata=OutputMetadata("2026-01-01T00:00:00Z", "prove", "0"),
    pod=POD,
    owner=OwnerRef("StatefulSet", "db"),
    node="n1",
    load=Load({"cpu": 0.9, "memory": 0.5, "gpu": 0.0}, {"cpu": 0.6, "memory": 0.5, "gpu": 0.0}),
    outcome="stays",
    move=None,
    strategies=(WANTING, SILENT),
    places=LandingPlaces((), (), (), ()),
)


def a_change(*messages: str, others: tuple[str, ...] = (), verified: bool = True) -> SuggestedChange:
    return SuggestedChange(tuple(Step("label", each) for each in messages), "n2", others, "certain", verified)


def lines(explanation: PodExplanation, width: int = 80) -> list[str]:
    return [line.plain for section in pod_sections(explanation, width) for line in section]


def told(explanation: PodExplanation) -> str:
    """All lines as one text."""
    return " ".join(" ".join(lines(explanation)).split())


def viewed(**fields: Any) -> PodExplanation:
    """The explanation with another view of the strategy that wants the pod to move."""
    return replace(STAYING, strategies=(replace(WANTING, **fields),))


def rejecting(*groups: Rejected) -> PodExplanation:
    return replace(STAYING, places=LandingPlaces((), (), (), groups))


def test_the_first_line_says_who_where_and_what_becomes_of_it():
    assert lines(STAYING)[0] == "shop/db-0  StatefulSet/db  on n1 (cpu 90 % -> 60 %, memory 50 %)     stays"


def test_what_has_no_room_on_the_first_line_goes_on_the_next():
    assert lines(STAYING, 60)[:2] == ["shop/db-0  StatefulSet/db", "on n1 (cpu 90 % -> 60 %, memory 50 %)     stays"]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(width):
    group = Rejected("NodeResourcesFit", ("Insufficient memory",), ("n2", "n3"), {"n2": "needs 8Gi, 3Gi free"})
    long = replace(
        rejecting(group), strategies=(replace(WANTING, changes=(a_change("with the label a=b on n2"),)), SILENT)
    )
    assert max(map(len, lines(long, width))) <= width


@pytest.mark.parametrize(
    ("outcome", "word"), [("pending", "has no node yet"), ("lost", "is on a node that is missing from the input")]
)
def test_a_pod_without_a_node_says_so_and_points_to_the_scheduler(outcome, word):
    found = lines(replace(STAYING, outcome=outcome, node=None, load=None, strategies=(), places=None))
    assert found == [
        f"shop/db-0  StatefulSet/db     {word}",
        "restow schedule ... --pod shop/db-0   where it would be scheduled, node by node",
    ]


def test_a_pod_that_nothing_wants_says_so_first():
    assert lines(replace(STAYING, strategies=(SILENT,)))[0].endswith("stays: no strategy wants to move it") or (
        lines(replace(STAYING, strategies=(SILENT,)))[1] == "stays: no strategy wants to move it"
    )


def a_move(**fields: Any) -> PodExplanation:
    move = Move(POD, None, "n1", **({"plugin": "Low", "reason": "n1 is full"} | fields))
    return replace(STAYING, outcome="moves", move=move, strategies=(), places=None)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"target": "n2", "certainty": "certain"}, "to n2 gain certain"),
        ({"certainty": "certain"}, "to nowhere: it needs no replacement"),
        ({}, "to not predicted: placement upstream"),
        ({"target": "n2", "certainty": "possible", "candidates": ("n2", "n3")}, "could win n2, n3"),
        ({"target": "n2", "certainty": "likely", "probability": 0.93}, "to n2 gain likely 0.93"),
        (
            {"target": "n2", "certainty": "certain", "probability": 1.0, "steering": "nominate"},
            "to n2 steered gain certain",
        ),
        (
            {"target": "n2", "candidates": ("n2", "n3"), "probabilities": (0.93, 0.07), "in_vain": ("n3",)},
            "could win n2 (0.93), n3 (0.07, in vain)",
        ),
    ],
    ids=["target", "cleared", "upstream", "candidates", "likely", "steered", "probabilities"],
)
def test_a_pod_that_moves_says_where_to(fields, expected):
    assert expected in told(a_move(**fields))


def test_every_stage_has_a_line():
    for line in ("  evictor    passes 10 of 10 checks", "  limit      none set", "  placement  0 of 3 other nodes fit"):
        assert line in lines(STAYING)


def test_what_the_plan_says_is_told_where_no_stage_says_it():
    assert "the plan placement" not in told(STAYING)
    assert "the plan placement Circle: round" in told(viewed(refusal=Reason("placement", "Circle", "round")))


def test_a_wish_of_before_the_plan_is_told_as_such():
    assert "Low wanted to move it before the plan's other moves: n1 is full" in told(viewed(before=True))


def test_a_handful_of_nodes_is_named_and_more_are_counted():
    names = tuple(f"n{i}" for i in range(2, 9))
    assert "n2, n3 TaintToleration x" in told(rejecting(Rejected("TaintToleration", ("x",), names[:2], {})))
    assert "7 nodes TaintToleration x (n2, n3, n4 and 4 more)" in told(
        rejecting(Rejected("TaintToleration", ("x",), names, {}))
    )


def test_nodes_are_told_apart_by_what_they_lack():
    group = Rejected("Fit", ("x",), ("n2", "n3", "n4"), {"n2": "needs 2", "n3": "needs 3", "n4": "needs 3"})
    assert "n2 Fit x: needs 2 n3, n4 Fit x: needs 3" in told(rejecting(group))


def test_the_pods_own_node_is_no_other_node():
    assert "Fit" not in told(rejecting(Rejected("Fit", ("x",), ("n1",), {}))).replace("NoFit", "")


def test_nodes_that_do_not_fit_are_not_told_where_another_does():
    passing = (*GATES[:3], StageResult("placement", True, "would land on n2, certain"))
    places = LandingPlaces(("n2",), ("n2",), (1.0,), (Rejected("Fit", ("x",), ("n3",), {}),))
    found = told(replace(STAYING, strategies=(replace(WANTING, gates=passing, welcome=("n2",)),), places=places))
    assert "could win n2; 1 of them would satisfy Low" in found
    assert "n3" not in found


def test_alternatives_are_one_sentence_and_steps_of_one_belong_together():
    changes = (a_change("with a", "with b", "with c"), a_change("with d", others=("n3", "n4", "n5", "n6")))
    expected = "It would move with a, with b and with c, or with d (or the same on n3, n4, n5 and 1 more)."
    assert expected in told(viewed(changes=changes))


def test_what_was_not_tried_only_might_help():
    changes = (a_change("with a"), a_change("if b", verified=False))
    assert "It would move with a. It might move if b." in told(viewed(changes=changes))


def test_strategies_that_do_not_say_why_share_a_sentence():
    views = tuple(replace(SILENT, plugin=name) for name in ("A", "B", "C"))
    assert "A, B and C do not want to move it" in told(replace(STAYING, strategies=views))
    why = replace(SILENT, plugin="D", reason="n1 is at 5 %")
    assert "D does not want to move it: n1 is at 5 %" in told(replace(STAYING, strategies=(why, *views)))


def test_names_that_a_terminal_would_obey_are_made_harmless():
    assert "\x1b" not in told(replace(STAYING, pod=PodRef("shop", "\x1b[31m", ""), node="\x1b[0m"))
