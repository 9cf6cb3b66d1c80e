"""Why a pod waits, as a scheduler tells it while it runs."""

from __future__ import annotations

import pytest

from builders import a_node
from live.apiserver import now
from restow.scheduler.explaining import LastAttempts, explain
from restow.scheduler.explanation import QueueExplanation
from restow.scheduling.queueing.queued_pods import QueuePlace
from scheduler.double import Notes, SchedulingServer, a_scheduler, a_server, until

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


def two_nodes(server: SchedulingServer) -> None:
    server.put("Node", a_node("a", cpu="1"))
    server.put("Node", a_node("b", cpu="1", taints=["k=v:NoSchedule"]))


async def test_a_pod_that_fits_nowhere_is_told_node_by_node_with_what_it_waits_for() -> None:
    async with a_server() as (server, api):
        two_nodes(server)
        server.create("p", cpu="2")
        attempts = LastAttempts(Notes(), now)
        async with a_scheduler(api, attempts) as daemon:
            await until(lambda: bool(daemon.queue.lengths()[QueuePlace.UNSCHEDULABLE]))
            found = explain(daemon, attempts, "default", "p")
            assert isinstance(found, QueueExplanation)
            assert (found.queue, found.attempts, found.feasible_nodes) == ("unschedulable", 1, 0)
            assert [(each.plugin, each.count, each.nodes) for each in found.objections] == [
                ("NodeResourcesFit", 1, ("a",)),
                ("TaintToleration", 1, ("b",)),
            ]
            assert found.rejected_by == ("NodeResourcesFit", "TaintToleration")
            assert found.waits_for
            assert found.sentences[0] == (
                "It was tried once, and rejected by NodeResourcesFit and TaintToleration the last time."
            )
            assert f"It is tried again when {found.waits_for[0]}." in found.sentences
            assert found.last_attempt is not None
            assert found.last_attempt.result == "unschedulable"
            assert found.last_attempt.message.startswith("0/2 nodes are available")


async def test_a_pod_whose_bind_fails_is_told_when_it_is_tried_again() -> None:
    async with a_server() as (server, api):
        two_nodes(server)
        server.create("p", cpu="1")
        server.trouble = lambda what: 409 if what == "binding" else None
        attempts = LastAttempts(Notes(), now)
        async with a_scheduler(api, attempts) as daemon:
            await until(lambda: bool(daemon.queue.lengths()[QueuePlace.BACKOFF]))
            found = explain(daemon, attempts, "default", "p")
            assert found is not None
            assert found.tried_again_in is not None
            assert 0 <= found.tried_again_in <= 2
            assert found.feasible_nodes == 1
            assert found.last_attempt is not None
            assert (found.last_attempt.result, found.last_attempt.node) == ("error", "a")


async def test_nothing_is_told_of_pods_that_do_not_wait_for_it() -> None:
    async with a_server() as (server, api):
        two_nodes(server)
        server.create("theirs", spec={"schedulerName": "somebody"})
        server.create("bound", node="a")
        attempts = LastAttempts(Notes(), now)
        async with a_scheduler(api, attempts) as daemon:
            await until(lambda: daemon.live.ready)
            server.create("p")
            await until(lambda: server.nodes_of()["p"] is not None)
            for name in ("theirs", "bound", "nobody"):
                assert explain(daemon, attempts, "default", name) is None
