"""Placement by what nodes use: read beside the scheduling, and never waited for."""

from __future__ import annotations

import asyncio

import pytest

from builders import a_node, node_metrics
from docs.pages import ROOT
from restow.scheduler.daemon import SchedulerDaemon
from restow.scheduler.usage import usage_problems, usage_window
from restow.scheduling.configuration.load import load_scheduler_configuration
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.scheduling.queueing.queued_pods import QueuePlace
from restow.usage.measured import recent_usage
from scheduler.double import Notes, SchedulingServer, a_scheduler, a_server, until

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

EXAMPLE = ROOT / "examples" / "schedulers" / "by-load.yaml"
BY_LOAD = {"schedulerName": "by-load"}


def profiles(text: str | None = None) -> tuple[SchedulerProfile, ...]:
    """Those of the example, or of another text."""
    return tuple(load_scheduler_configuration((text or EXAMPLE.read_text()).encode(), "file").profiles)


def cluster(server: SchedulingServer, **used: str) -> None:
    """Nodes that are alike but for what they use."""
    for name, cpu in used.items():
        server.put("Node", a_node(name, cpu="4", memory="8Gi"))
        server.put("NodeMetrics", node_metrics(name, cpu=cpu, memory="1Gi"))


async def test_pods_go_where_little_is_used_not_where_little_is_requested() -> None:
    async with a_server() as (server, api):
        cluster(server, a="3500m", b="100m", c="2")
        server.create("settled", cpu="2", node="b")
        async with a_scheduler(api, profiles=profiles()) as daemon:
            await until(lambda: is_measured(daemon))
            server.create("p", cpu="100m", spec=BY_LOAD)
            await until(lambda: server.nodes_of()["p"] == "b")


async def test_pods_that_came_lately_count_with_their_requests_so_that_they_do_not_herd() -> None:
    async with a_server() as (server, api):
        cluster(server, a="1", b="100m")
        async with a_scheduler(api, profiles=profiles()) as daemon:
            await until(lambda: is_measured(daemon))
            for each in range(4):
                server.create(f"p{each}", cpu="800m", spec=BY_LOAD)
            await until(lambda: all(server.nodes_of().values()))
        assert sorted(each.node for each in server.bindings) == ["a", "b", "b", "b"]


async def test_usage_that_is_five_minutes_old_counts_no_more_and_all_nodes_score_alike() -> None:
    async with a_server() as (server, api):
        cluster(server, a="3500m", b="100m")
        notes = Notes()
        async with a_scheduler(api, notes, profiles=profiles()) as daemon:
            await until(lambda: is_measured(daemon))
            server.refused["NodeMetrics"] = 503
            await asyncio.sleep(280)
            assert is_measured(daemon)
            await asyncio.sleep(60)
            assert not is_measured(daemon)
            server.create("p", spec=BY_LOAD)
            await until(lambda: server.nodes_of()["p"] is not None, 5)
            server.create("gated", spec=BY_LOAD | {"schedulingGates": [{"name": "later"}]})
            await until(lambda: bool(daemon.queue.lengths()[QueuePlace.GATED]))
            assert scores(daemon, "gated") == [0, 0]
            del server.refused["NodeMetrics"]
            await until(lambda: is_measured(daemon), 60)
            assert scores(daemon, "gated")[0] < scores(daemon, "gated")[1]
        told = [each for each in notes.warnings if "usage of nodes" in each]
        assert told[0].startswith("the usage of nodes is not read: ")
        assert told[0].endswith("without it LoadVariationRiskBalancing scores all nodes alike")
        assert told[1:] == ["the usage of nodes is read again"]


async def test_pods_are_scheduled_where_nobody_serves_usage_or_it_makes_no_sense() -> None:
    async with a_server() as (server, api):
        server.put("Node", a_node("a"))
        server.refused["NodeMetrics"] = 404
        notes = Notes()
        async with a_scheduler(api, notes, profiles=profiles()):
            server.create("p", spec=BY_LOAD)
            await until(lambda: server.nodes_of()["p"] == "a", 5)
            del server.refused["NodeMetrics"]
            server.put("NodeMetrics", node_metrics("a", cpu="much"))
            await asyncio.sleep(60)
            server.create("q", spec=BY_LOAD)
            await until(lambda: server.nodes_of()["q"] == "a", 5)


async def test_usage_outlives_a_new_state() -> None:
    async with a_server() as (server, api):
        cluster(server, a="3500m", b="100m")
        async with a_scheduler(api, profiles=profiles()) as daemon:
            await until(lambda: is_measured(daemon))
            daemon.mirror.restart()
            assert is_measured(daemon)


async def test_without_a_profile_that_scores_by_usage_nobody_reads_it() -> None:
    async with a_server() as (server, api):
        cluster(server, a="1")
        server.refused["NodeMetrics"] = 500
        notes = Notes()
        async with a_scheduler(api, notes):
            server.create("p")
            await until(lambda: server.nodes_of()["p"] == "a")
            await asyncio.sleep(60)
        assert notes.warnings == []


async def test_samples_are_kept_for_the_widest_window_up_to_an_hour() -> None:
    assert usage_window((DEFAULT_PROFILE,)) == 0
    assert usage_window((DEFAULT_PROFILE, *profiles())) == 900
    assert usage_window(profiles(EXAMPLE.read_text().replace("900", "86400"))) == 3600


@pytest.mark.parametrize(
    ("argument", "source"),
    [
        ("watcherAddress: http://watcher", "watcherAddress"),
        ("metricProvider: {type: Prometheus, address: http://p}", "Prometheus"),
        ("metricProvider: {type: KubernetesMetricsServer}", None),
    ],
)
async def test_a_source_that_is_not_read_is_refused(argument: str, source: str | None) -> None:
    text = EXAMPLE.read_text().replace("windowSeconds: 900", argument)
    problems = list(usage_problems(profiles(text)))
    assert [f"asks for usage from {source}" in each for each in problems] == ([True] if source else [])


def is_measured(daemon: SchedulerDaemon) -> bool:
    return daemon.mirror.has_begun and recent_usage(daemon.mirror.state.cluster) is not None


def scores(daemon: SchedulerDaemon, name: str) -> list[int]:
    """What the plugin gives the nodes for a pod."""
    mirror = daemon.mirror
    ranking = mirror.schedulers.decide(mirror.state.order.find("default", name)).ranking
    assert ranking is not None
    found: list[int] = ranking.by_plugin["LoadVariationRiskBalancing"].tolist()
    return found
