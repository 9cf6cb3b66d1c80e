"""What ``restow apply`` shows before and after: whole screens, and the document for programs."""

from __future__ import annotations

import io
from dataclasses import replace

import msgspec
import pytest
from msgspec import structs
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from builders.plans import SMALL_LOADS, a_clearance, a_move, a_report, a_steered_move, upstream_report
from restow.descheduler.applying import Promise
from restow.descheduling.plan import Move
from restow.executing.history import AppliedMove
from restow.proving.replaying import RefusedMove
from restow.reporting.apply_result import ApplyResult, apply_result
from restow.reporting.apply_table import print_promise, print_result

MOVES = (
    a_steered_move("shop/web-7f9c5d8b44-x2k9q", ("node-1", "node-4")),
    a_steered_move("shop/web-7f9c5d8b44-9qdmz", ("node-1", "node-5")),
)
REFUSED = (
    RefusedMove(a_move("shop/web-0", ("n1", "n2")), "Gone", "it is already gone, and another pod has its name"),
    RefusedMove(a_move("shop/db-1", ("n1", "n2")), "DisruptionBudget", "shop/db allows 0 more disruptions"),
)


def a_promise(
    moves: tuple[Move, ...] = MOVES, refused: tuple[RefusedMove, ...] = REFUSED, unsteered: str | None = None
) -> Promise:
    return Promise(a_report(moves, loads=SMALL_LOADS).plan, refused, (), unsteered)


def an_entry(move: Move, result: str, **fields: object) -> AppliedMove:
    entry = AppliedMove(move.pod, move.source, move.target, move.steering, result)  # type: ignore[arg-type]
    return structs.replace(entry, **fields)


def moved(move: Move) -> AppliedMove:
    landed = {"landed": move.target, "replacement": f"{move.pod.name}-new", "landing": "target"}
    return an_entry(move, "moved", as_planned=True, **landed)


def a_result(*entries: AppliedMove, seconds: float = 41.2, interrupted: bool = False) -> ApplyResult:
    return apply_result(
        entries,
        plan="plan.json",
        plan_generated_at="2026-03-01T12:00:00Z",
        dry_run=False,
        interrupted=interrupted,
        seconds=seconds,
    )


def console(width: int = 80) -> tuple[Console, io.StringIO]:
    written = io.StringIO()
    return Console(file=written, width=width, color_system=None, force_terminal=False), written


def promised(promise: Promise, width: int = 80) -> str:
    page, written = console(width)
    print_promise(promise, "plan.json", 245, "10.0.0.1:6443", page)
    return written.getvalue()


def told(result: ApplyResult, width: int = 80) -> str:
    page, written = console(width)
    print_result(result, page)
    return written.getvalue()


@pytest.mark.parametrize(
    "promise",
    [
        a_promise(),
        a_promise(refused=()),
        a_promise(moves=()),
        a_promise(unsteered="restow's roles lack a rule; docs/how-to/steer.md has the objects to install"),
        Promise(upstream_report().plan, (), (), None),
        replace(a_promise(refused=()), notes=("The plan counts on a fence: 1 of 6 nodes carry the taint",)),
    ],
    ids=["some hold", "all hold", "none hold", "not steered", "upstream", "fenced"],
)
def test_what_will_be_done(promise: Promise, snapshot: SnapshotAssertion) -> None:
    assert promised(promise) == snapshot


def test_of_many_moves_the_refused_are_counted_by_reason() -> None:
    refused = [
        RefusedMove(a_move(f"a/p{at}", ("n1", "n2")), "Gone" if at % 3 else "Stale", f"why {at}") for at in range(30)
    ]
    lines = promised(a_promise(refused=tuple(refused))).splitlines()
    at = lines.index("30 moves do not hold any more")
    assert lines[at + 1 : at + 4] == [
        " MOVES  CODE   WHY",
        " 20     Gone   for example: why 1",
        " 10     Stale  for example: why 0",
    ]


def test_what_was_done(snapshot: SnapshotAssertion) -> None:
    assert told(a_result(*map(moved, MOVES), an_entry(a_clearance("batch/etl-0", "node-2"), "moved"))) == snapshot


def test_what_was_not_done_says_why(snapshot: SnapshotAssertion) -> None:
    first, second = MOVES
    third = a_steered_move("shop/web-7f9c5d8b44-kk2lm", ("node-1", "node-6"))
    result = a_result(
        an_entry(REFUSED[0].move, "refused", code="Gone", message="it is already gone"),
        an_entry(first, "dropped", code="Blocked", message="The disruption budget shop/db needs 2 healthy pods, for too long"),
        an_entry(second, "moved", landed="node-9", as_planned=False, landing="missed", message="it landed on node-9, which the plan does not name"),
        an_entry(third, "evicted", landed="node-6", as_planned=True, landing="target", code="Unready", message="its replacement was not ready within 5m0s"),
    )  # fmt: skip
    assert told(result) == snapshot


def test_what_landed_on_another_good_node_is_not_called_as_planned(snapshot: SnapshotAssertion) -> None:
    first, second = MOVES
    result = a_result(moved(first), an_entry(second, "moved", landed="node-9", as_planned=True, landing="other"))
    assert "as planned" not in told(result)
    assert told(result) == snapshot


@pytest.mark.parametrize(
    ("landings", "expected"),
    [
        (("target",), "1 of 1 move made in 41s: 1 landed on target, 0 missed"),
        (("other", "other"), "2 of 2 moves made in 41s: 2 landed on other good nodes, 0 missed"),
        (
            ("target", "other", "missed"),
            "3 of 3 moves made in 41s: 1 landed on target, 1 on another good node, 1 missed",
        ),
        (("missed",), "1 of 1 move made in 41s: 1 missed"),
        ((None,), "1 of 1 move made in 41s"),
    ],
)
def test_landings_are_counted_in_three_kinds(landings: tuple[str | None, ...], expected: str) -> None:
    entries = [an_entry(MOVES[0], "moved", landed="n", landing=each) for each in landings]
    assert " ".join(told(a_result(*entries)).split(" POD ")[0].split()) == expected


def test_of_many_moves_only_those_are_listed_that_did_not_come_about() -> None:
    entries = [moved(a_move(f"a/p{at}", ("n1", "n2"))) for at in range(30)]
    entries += [an_entry(a_move(f"a/q{at}", ("n1", "n2")), "dropped", code="Gone", message="why") for at in range(25)]
    lines = told(a_result(*entries)).splitlines()
    assert lines[1] == "30 of 55 moves made in 41s: 30 landed on target, 0 missed"
    assert sum("dropped" in line for line in lines) == 20
    assert lines[-1] == " ... and 5 more: see -o json"
    assert len(told(a_result(*entries[:30])).splitlines()) == 2


@pytest.mark.parametrize("width", [60, 80, 200])
def test_lines_fit_the_terminal(width: int) -> None:
    long = RefusedMove(a_move(f"team/{'x' * 90}", ("n1", "n2")), "NoFit", "0/5 nodes are available: " + "word " * 40)
    for line in promised(a_promise(refused=(long,)), width).splitlines():
        assert len(line) <= width


def test_names_that_would_move_the_cursor_are_shown_instead() -> None:
    evil = RefusedMove(a_move("shop/evil\x1b[31m", ("n1", "n2")), "Gone", "gone\x1b[2J")
    assert "\x1b" not in promised(a_promise(refused=(evil,)))


def test_the_document_counts_what_became_of_the_moves() -> None:
    other = an_entry(MOVES[1], "moved", landed="node-9", as_planned=False, landing="missed")
    document = msgspec.to_builtins(a_result(moved(MOVES[0]), other, an_entry(REFUSED[0].move, "refused")))
    assert document["kind"] == "ApplyResult"
    assert document["metadata"]["seconds"] == 41.2
    assert document["summary"] == {
        "moves": 3,
        "refused": 1,
        "promised": 0,
        "moved": 2,
        "dropped": 0,
        "evicted": 0,
        "asPlanned": 1,
        "onTarget": 1,
        "onOther": 0,
        "missed": 1,
    }
    assert document["moves"][0] == {
        "pod": {"namespace": "shop", "name": "web-7f9c5d8b44-x2k9q", "uid": "uid-web-7f9c5d8b44-x2k9q"},
        "from": "node-1",
        "to": "node-4",
        "steering": "nominate",
        "result": "moved",
        "landed": "node-4",
        "replacement": "web-7f9c5d8b44-x2k9q-new",
        "asPlanned": True,
        "landing": "target",
        "code": "",
        "message": "",
    }
