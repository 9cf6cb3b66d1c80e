"""The screen of ``restow top``: the fullest nodes first, and never wider or higher than the terminal."""

from __future__ import annotations

import pytest

from restow.reporting.top_result import ClusterNow, MovingPod, NodeNow
from restow.reporting.top_table import top_lines


def a_cluster(nodes: int = 30, moving: int = 0) -> ClusterNow:
    return ClusterNow(
        "the cluster at 10.0.0.1:6443",
        tuple(NodeNow(f"node-{each}", "eu-1a", each / nodes, 0.3, each, ()) for each in range(nodes)),
        tuple(MovingPod(f"shop/web-{each}", "node-1", "ends") for each in range(moving)),
        400,
        0.21,
        0.1,
    )


def shown(now: ClusterNow, width: int = 80, height: int | None = None) -> list[str]:
    return [line.plain for line in top_lines(now, width, height)]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 60), (40, 10)])
def test_the_screen_is_no_larger_than_the_terminal(width: int, height: int) -> None:
    lines = shown(a_cluster(500, 40), width, height)
    assert max(map(len, lines)) <= width
    assert len(lines) <= max(height, 14)


def test_the_fullest_nodes_come_first_and_the_rest_is_counted() -> None:
    lines = shown(a_cluster(), height=24)
    names = [line.split()[0] for line in lines if line.startswith("node-")]
    assert names[:3] == ["node-29", "node-28", "node-27"]
    assert lines[-1] == f"... and {30 - len(names)} more, none of them fuller"


def test_without_a_height_all_nodes_are_there() -> None:
    assert sum(line.startswith("node-") for line in shown(a_cluster())) == 30


def test_what_is_under_way_is_counted_and_listed() -> None:
    lines = shown(a_cluster(3, moving=12))
    assert lines[0].startswith("3 nodes, 400 pods, 12 ending ")
    assert lines[-2].split() == ["shop/web-7", "node-1", "ends"]
    assert lines[-1] == "... and 4 more"


def test_names_of_others_are_shown_and_not_obeyed() -> None:
    now = ClusterNow(
        "x", (NodeNow("n\x1b[31m", "z\x07", 0.5, 0.5, 1, ()),), (MovingPod("a/\x1b", "", "ends"),), 1, 0, 0
    )
    assert not any("\x1b" in line or "\x07" in line for line in shown(now))


def test_an_empty_cluster_is_a_screen_too() -> None:
    assert shown(ClusterNow("x", (), (), 0, 0.0, 0.0))[0].startswith("0 nodes, 0 pods")
