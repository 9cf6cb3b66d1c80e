"""A board keeps a day of samples, and whoever waits for news gets the newest state, not each one."""

from __future__ import annotations

import asyncio

import pytest

from restow.reporting.top_result import ClusterNow, MovingPod, NodeNow
from restow.web.board import Board, News, columns, sample_of


def a_cluster(*moving: MovingPod, cpu: float = 0.5) -> ClusterNow:
    nodes = (NodeNow("n-1", "a", cpu, 0.25, 3, ()), NodeNow("n-2", "a", 0.1, 0.75, 1, ("cordoned",)))
    return ClusterNow("dump", nodes, moving, 4, 0.2, 0.25)


def test_a_sample_has_the_fullest_node_of_each_resource_and_what_is_under_way() -> None:
    moving = (MovingPod("a", "n-1", "ends"), MovingPod("b", "", "waits for a node"))
    found = sample_of(a_cluster(*moving), 7.0)
    assert (found.time, found.cpu, found.memory, found.pending, found.moving) == (7.0, 0.5, 0.75, 1, 1)


def test_a_cluster_without_nodes_has_a_sample() -> None:
    assert sample_of(ClusterNow("dump", (), (), 0, 0.0, 0.0), 1.0).cpu == 0.0


@pytest.mark.asyncio
async def test_the_oldest_samples_go_first() -> None:
    board = Board()
    for at in range(8641):
        board.show(a_cluster(), float(at))
    assert (len(board.samples), board.samples[0].time) == (8640, 1.0)
    assert columns(board.samples[-2:])["time"] == [8639.0, 8640.0]


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_what_waits_is_woken_by_the_next_change_or_by_time() -> None:
    board, loop = Board(), asyncio.get_running_loop()
    waiting = asyncio.create_task(board.changed(15.0))
    await asyncio.sleep(1.0)
    board.show_problem("the policy cannot be read")
    await waiting
    assert loop.time() == 1.0
    await board.changed(15.0)
    assert loop.time() == 16.0


@pytest.mark.asyncio
async def test_a_cluster_that_has_not_changed_is_a_sample_and_no_news() -> None:
    board = Board()
    board.show(a_cluster(), 1.0)
    board.show(a_cluster(), 2.0)
    assert (board.news.now, board.news.samples) == (1, 2)
    board.show(a_cluster(), 3.0, "pods are not followed")
    assert (board.news.now, board.caveats) == (2, "pods are not followed")
    board.show_problem("policy.yaml cannot be read")
    assert board.caveats == "pods are not followed; policy.yaml cannot be read"


@pytest.mark.asyncio
async def test_a_problem_is_news_once() -> None:
    board = Board()
    board.show_problem("no")
    shown = board.news.now
    board.show_problem("no")
    assert board.news.now == shown
    assert board.has_news(News())
