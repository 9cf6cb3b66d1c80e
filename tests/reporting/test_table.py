"""What people see on a terminal: snapshots of whole screens, and the rules that no snapshot shows."""

from __future__ import annotations

import io
import re

import pytest
from msgspec import structs
from rich.cells import cell_len
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from builders.plans import (
    SMALL_LOADS,
    SMALL_REFUSALS,
    a_clearance,
    a_likely_move,
    a_load,
    a_move,
    a_refusal,
    a_report,
    a_steered_move,
    an_open_move,
    small_report,
    upstream_report,
)
from builders.plans import large_report as a_large_report
from reporting.work import calls
from restow.descheduling.plan import Remark
from restow.reporting.forms import Report
from restow.reporting.table import print_table, print_wide


def a_console(width: int = 80, *, terminal: bool = False) -> Console:
    """A console that writes to memory, whatever the test runs in."""
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=terminal,
        color_system="standard" if terminal else None,
        no_color=False,
        legacy_windows=False,
    )


def printed(report: Report, width: int = 80, *, terminal: bool = False) -> str:
    console = a_console(width, terminal=terminal)
    print_table(report, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def printed_wide(report: Report) -> str:
    console = a_console()
    print_wide(report, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def nothing_to_do() -> Report:
    return a_report((), SMALL_REFUSALS, SMALL_LOADS)


def could_not_work() -> Report:
    problem = Remark(
        "default", "LowNodeUtilization", "no metrics for node-3; add NodeMetrics of metrics.k8s.io to the input"
    )
    return a_report((), (), SMALL_LOADS, problems=(problem,), notes=("2 pods have no owner.",), bundled=True)


def unsure() -> Report:
    moves = (
        a_move("shop/web-1", ("node-1", "node-4")),
        a_move(
            "shop/a-bare-pod", ("node-2", "node-2"), owner=None, certainty="possible", plugin="PodLifeTime", reason=""
        ),
    )
    return a_report(moves, SMALL_REFUSALS[:1], SMALL_LOADS)


def steered_and_likely() -> Report:
    """The names have domains that nobody needs to read, so 80 columns are few."""
    route = ("ip-10-0-17-181.eu-west-1.compute.internal", "ip-10-0-17-42.eu-west-1.compute.internal")
    moves = (
        a_steered_move("shop/web-7f9c5d8b44-x2k9q", route),
        a_steered_move("shop/web-7f9c5d8b44-9qdmz", route),
        a_likely_move("batch/etl-0", route),
    )
    return a_report(moves, SMALL_REFUSALS[:1], SMALL_LOADS)


def open_targets() -> Report:
    route = ("node-1", "node-4")
    moves = (
        a_steered_move("shop/web-1", route),
        a_move("shop/web-2", route),
        an_open_move("shop/web-3", route, (0.2,) * 5),
        an_open_move("shop/web-4", route, (1 / 7,) * 7),
        a_likely_move("shop/web-5", route),
    )
    return a_report(moves, SMALL_REFUSALS[:1], SMALL_LOADS)


def every_kind_of_move_and_refusal() -> Report:
    moves = (
        a_move("shop/web-1", ("node-1", "node-4"), candidates=("node-4", "node-5", "node-6")),
        a_move("shop/web-2", ("node-1", "node-5"), certainty="possible", candidates=("node-1", "node-5")),
        a_clearance("batch/done", "node-2"),
    )
    refusals = (
        a_refusal("shop/db-0", "placement", "NoFit", "0/6 nodes are available: 6 Insufficient memory."),
        a_refusal("shop/db-1", "placement", "SameNode", "it would land on node-2 again"),
        a_refusal("shop/db-2", "placement", "Circle", "it would land on node-4, from where X would move it again"),
        a_refusal("shop/api-1", "budget", "DisruptionBudget", "shop/api allows 0 more disruptions"),
        a_refusal("shop/api-2", "budget", "Unknown", "its eviction depends on PodDisruptionBudgets"),
    )
    return a_report(moves, refusals, SMALL_LOADS)


SCREENS = {
    "small": small_report,
    "upstream": upstream_report,
    "nothing to do": nothing_to_do,
    "could not work": could_not_work,
    "unsure": unsure,
    "steered and likely": steered_and_likely,
    "open targets": open_targets,
    "every kind": every_kind_of_move_and_refusal,
    "empty cluster": a_report,
    "many moves": lambda: a_large_report(nodes=300, moves=2000, refusals=900),
}


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_of_80_columns(name: str, snapshot: SnapshotAssertion) -> None:
    assert printed(SCREENS[name]()) == snapshot


def test_a_wide_terminal_has_the_reasons_beside_the_moves(snapshot: SnapshotAssertion) -> None:
    assert printed(small_report(), 130) == snapshot


def test_the_wide_format_has_every_column(snapshot: SnapshotAssertion) -> None:
    assert printed_wide(small_report()) == snapshot
    assert printed_wide(steered_and_likely()) == snapshot


@pytest.mark.parametrize("name", SCREENS)
@pytest.mark.parametrize("width", [80, 100, 200])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    assert max(map(cell_len, printed(SCREENS[name](), width).splitlines())) <= width


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_one_screen(name: str) -> None:
    assert len(printed(SCREENS[name]()).splitlines()) <= 60


def test_without_a_terminal_there_is_no_colour() -> None:
    assert "\x1b" not in printed(small_report())


def test_colour_adds_nothing_that_words_do_not_say() -> None:
    coloured = printed(small_report(), terminal=True)
    assert "\x1b[32m61 %" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == printed(small_report())


def test_names_from_a_dump_cannot_write_to_the_terminal() -> None:
    nasty = "shop/web\x1b]0;owned\x07[bold]"
    report = a_report(
        (a_move(nasty, ("node\x1b[2J", "node-2"), reason="\x1b[31m"),), (a_refusal(nasty, "evictor", "\x1bX", "\x1bY"),)
    )
    for text in (printed(report), printed_wide(report)):
        assert "\x1b" not in text
        assert "\x07" not in text
    assert "[bold]" in printed_wide(report)


def test_in_upstream_placement_no_target_is_named() -> None:
    text = printed(upstream_report())
    assert " TO" not in text
    assert "->" not in text


def test_the_wide_format_lists_every_refusal_with_its_message() -> None:
    text = printed_wide(a_large_report(nodes=3, moves=30, refusals=200))
    assert text.count("\n team-") == 200
    assert text.count("Deployment/app-") == 30


def test_a_plan_twice_as_large_is_no_more_than_twice_the_work() -> None:
    plans = [a_large_report(nodes=each * 250, moves=each * 500, refusals=each * 750) for each in (1, 2)]
    one, two = (calls(lambda plan=plan: printed(plan)) for plan in plans)
    assert two < 2.2 * one


def evictions_of(owner: str, count: int = 2, node: str = "worker-1.example.internal") -> Report:
    """Evictions of pods that the owner's name begins."""
    moves = (a_move(f"shop/recommendations-7f9c5d8b44-x2k9{at}", (node, None), owner=owner) for at in range(count))
    return a_report(tuple(moves), (), SMALL_LOADS, placement="upstream")


def test_where_names_do_not_fit_the_hash_is_cut_and_the_owner_stays_whole() -> None:
    report = evictions_of("Deployment/recommendations")
    assert "1  shop/recommendations-…-x2k90  Deployment/recommendations  worker-1…" in printed(report)
    assert "1  shop/…-x2k90  Deployment/recommendations  worker-1…" in printed(report, 60)
    assert "shop/recommendations-7f9c5d8b44-x2k90  Deployment/recommendations" in printed(report, 100)


def test_an_owner_of_another_name_keeps_it() -> None:
    assert "Rollout/shop" in printed(evictions_of("Rollout/shop"))


def test_a_pod_that_is_only_taken_away_is_cleared_and_no_node_is_made_up() -> None:
    text = printed(every_kind_of_move_and_refusal())
    assert re.search(r"batch/done +Job/nightly +node-2 +cleared", text)
    assert "2 of 3 could also land on other nodes" in text


def test_nodes_that_a_plan_only_counts_are_counted() -> None:
    move = structs.replace(a_move("shop/web-1", ("node-1", "node-4")), candidate_count=600)
    report = a_report((move,), (), SMALL_LOADS)
    assert "It could also land on other nodes" in printed(report)
    assert "node-4 and 599 more" in printed_wide(report)


def test_where_all_moves_have_one_landing_place_there_is_no_word_of_others() -> None:
    assert "could land" not in printed(small_report())


@pytest.mark.parametrize(("count", "shown"), [(20, 20), (21, 10)])
def test_of_many_moves_the_first_ones_are_shown(count: int, shown: int) -> None:
    text = printed(evictions_of("Deployment/recommendations", count))
    assert text.count("shop/recommendations-") == shown
    assert (f"... and {count - shown} more" in text) == (count > shown)


def nodes(count: int) -> Report:
    loads = tuple(a_load(f"node-{at:02}", (at % 90, 50), (at % 70, 30)) for at in range(count))
    return a_report((a_move("shop/web-1", ("node-1", "node-2")),), (), loads)


@pytest.mark.parametrize(
    ("count", "labels"), [(6, ["nodes"]), (40, ["cpu      before", "         after", "memory   before"])]
)
def test_nodes_that_do_not_fit_below_the_figures_have_lines_of_their_own(count: int, labels: list[str]) -> None:
    lines = printed(nodes(count)).splitlines()
    assert all(any(line.startswith(label) for line in lines) for label in labels)
    assert any("cpu " in line and "memory" in line for line in lines)
