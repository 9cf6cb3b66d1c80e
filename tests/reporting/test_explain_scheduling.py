"""``restow explain scheduling`` on a terminal."""

from __future__ import annotations

import msgspec
import pytest

from restow.reporting.schedule_explanation import scheduling_sections, span
from restow.scheduler.explanation import LastAttempt, Objection, QueueExplanation

WAITS = QueueExplanation(
    namespace="shop",
    name="checkout-8b-w7fjs",
    uid="u",
    scheduler="my-scheduler",
    queue="unschedulable",
    attempts=3,
    waited=7_400,
    tried_again_in=None,
    nominated_node="",
    rejected_by=("NodeResourcesFit", "TaintToleration"),
    waits_for=("a node is added",),
    sentences=(
        "It was tried 3 times, and rejected by NodeResourcesFit and TaintToleration the last time.",
        "It is tried again when a node is added.",
    ),
    last_attempt=LastAttempt("unschedulable", "0/14 nodes are available: 13 Insufficient cpu.", 75, ""),
    feasible_nodes=0,
    objections=(
        Objection("NodeResourcesFit", ("Insufficient cpu",), 13, tuple(f"node-{each}" for each in range(10))),
        Objection("TaintToleration", ("node(s) had untolerated taint(s)",), 1, ("gpu-b-1",)),
    ),
)


def told(explanation: QueueExplanation, width: int = 80) -> str:
    sections = scheduling_sections(explanation, "https://127.0.0.1:10259", width)
    return "\n\n".join("\n".join(line.plain for line in lines) for lines in sections if lines)


def test_a_pod_that_waits_is_told_in_full() -> None:
    assert (
        told(WAITS)
        == """\
pod      shop/checkout-8b-w7fjs   scheduler my-scheduler   has waited 2 h 3 min
asked    https://127.0.0.1:10259

shop/checkout-8b-w7fjs is in the queue unschedulable
 It was tried 3 times, and rejected by NodeResourcesFit and TaintToleration the
   last time.
 It is tried again when a node is added.

The last attempt, 1 min 15 s ago: unschedulable
 0/14 nodes are available: 13 Insufficient cpu.

14 nodes do not fit now
 13  NodeResourcesFit  Insufficient cpu
     node-0, node-1, node-2, node-3, node-4, node-5, node-6, node-7, node-8,
     node-9 and 3 more
  1  TaintToleration  node(s) had untolerated taint(s)
     gpu-b-1

restow schedule --pod shop/checkout-8b-w7fjs --scheduler-config FILE
"""[:-1]
    )


def test_a_failed_binding_names_its_node_and_what_is_kept_for_the_pod() -> None:
    failed = msgspec.structs.replace(
        WAITS,
        queue="backoff",
        nominated_node="node-1",
        last_attempt=LastAttempt("error", "the pod is gone", 2, "node-2"),
        feasible_nodes=2,
    )
    page = told(failed)
    assert "The last attempt, 2 s ago, on node-2: error\n" in page
    assert " node-1 is kept for it.\n" in page
    assert "2 nodes fit now\n14 nodes do not fit now\n" in page


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_but_a_command_is_wider_than_the_terminal(width: int) -> None:
    assert max(len(line) for line in told(WAITS, width).splitlines() if not line.startswith("restow")) <= width


def test_what_a_stranger_wrote_is_not_obeyed() -> None:
    hostile = msgspec.structs.replace(WAITS, sentences=("\x1b[31mred",), nominated_node="\x1b[2J")
    assert "\x1b" not in told(hostile)


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (59.4, "59 s"), (61, "1 min 1 s"), (3_600, "1 h 0 min")])
def test_spans(seconds: float, words: str) -> None:
    assert span(seconds) == words
