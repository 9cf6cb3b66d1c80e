"""What a scheduler does not know, or cannot do, keeps pods waiting; it never goes on without it."""

from __future__ import annotations

import asyncio

import pytest

from builders import a_node
from restow.scheduler.attempts import Result
from scheduler.double import Notes, a_scheduler, a_server, until

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

CLAIMS = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]}


async def test_a_pod_with_resource_claims_is_told_and_not_bound_without_its_devices() -> None:
    async with a_server() as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("claiming", cpu="100m", spec=CLAIMS)
        server.create("plain", cpu="100m")
        notes = Notes()
        async with a_scheduler(api, notes):
            await asyncio.sleep(200)
            assert len(notes.attempts) == 2
            told = {each.pod.name: each for each in notes.attempts}
            assert server.nodes_of() == {"claiming": None, "plain": "a"}
            assert told["claiming"].result is Result.UNSCHEDULABLE
            (condition,) = server.pod("claiming")["status"]["conditions"]
            assert (condition["reason"], condition["message"]) == (
                "Unschedulable",
                "where it goes is unknown: it claims devices, and objects of kind ResourceClaim are not known here; leave such pods to kube-scheduler",
            )


@pytest.mark.parametrize("kind", ["PersistentVolumeClaim", "PodDisruptionBudget", "Namespace"])
async def test_nothing_is_bound_while_a_kind_may_not_be_listed(kind: str) -> None:
    """Like kube-scheduler, which waits for all of its lists."""
    async with a_server(refused={kind: 403}) as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("p", cpu="100m")
        async with a_scheduler(api):
            await asyncio.sleep(300)
            assert server.nodes_of() == {"p": None}
            server.refused.clear()
            await until(lambda: server.nodes_of() == {"p": "a"})


async def test_nobody_is_preempted_while_nobody_knows_who_is_protected() -> None:
    async with a_server() as (server, api):
        server.put("Node", a_node("a", cpu="1"))
        server.create("low", cpu="800m", priority=1, node="a")
        notes = Notes()
        async with a_scheduler(api, notes) as daemon:
            await until(lambda: daemon.mirror.sizes()["nodes"] == 1)
            server.hung.add("PodDisruptionBudget")
            await until(lambda: daemon.live.unknown(["PodDisruptionBudget"]) is not None)
            server.create("high", cpu="800m", priority=10)
            await until(lambda: bool(notes.attempts))
            await asyncio.sleep(60)
            assert server.nodes_of() == {"low": "a", "high": None}
            assert notes.victims == []
            server.hung.clear()
            await until(lambda: server.nodes_of().get("high") == "a", 1_200.0)
            assert notes.victims == ["low"]
