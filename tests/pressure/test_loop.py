"""Rounds over stand-ins of Prometheus and the API server: what goes out, what is told, and that nothing ends the loop."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from client.double import Answer, Double, a_double, a_status, an_answer, an_api
from descheduler.hearing import Heard, sample
from pressure.marked_nodes import a_marked_node
from restow.client.transport import always
from restow.daemon.background import background
from restow.kube.duration import MINUTE, SECOND
from restow.pressure.daemon import API_SERVER, Rounds, steady_clock, watch_api_server
from restow.pressure.evaluation import MissingDataPolicy
from restow.pressure.marking import FIELD_MANAGER, Mark
from restow.pressure.monitoring import DependencyStatus, PressureMetrics
from restow.pressure.nodes import KnownNodes
from restow.pressure.rules import Rule
from restow.pressure.situation import Criteria
from restow.pressure.writing import Writer
from restow.serving.health import Watchdog

pytestmark = pytest.mark.asyncio

QUERY, NODES = "/api/v1/query", "/api/v1/nodes"


@dataclass
class Stage:
    """A loop and those whom it asks."""

    prometheus: Double
    cluster: Double
    rounds: Rounds
    heard: Heard
    now: int = 0

    def answers(self, *values: dict[str, float] | Answer) -> None:
        """What the next queries come to; the last one again and again."""
        self.prometheus._answers.clear()
        self.prometheus.answers(
            "GET", QUERY, *(each if isinstance(each, Answer) else a_vector(each) for each in values)
        )

    async def go(self, seconds: int = 10) -> None:
        self.now += seconds * SECOND
        await self.rounds.go_round(always)

    @property
    def patched(self) -> list[tuple[str, dict[str, str]]]:
        """The labels that were written, by node."""
        asked = (each for each in self.cluster.asked if each.method == "PATCH")
        return [(each.json["metadata"]["name"], each.json["metadata"]["labels"]) for each in asked]


def a_vector(values: dict[str, float]) -> Answer:
    result = [{"metric": {"instance": name}, "value": [time.time(), str(value)]} for name, value in values.items()]
    return an_answer({"status": "success", "data": {"resultType": "vector", "result": result}})


def a_list(*names: str) -> Answer:
    items = [a_marked_node(name, uid=f"u-{name}", resourceVersion="1") for name in names]
    return an_answer({"kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": items})


@asynccontextmanager
async def a_stage(*names: str) -> AsyncIterator[Stage]:
    async with (
        a_double() as prometheus,
        a_double() as cluster,
        an_api(prometheus.url) as asked,
        an_api(cluster.url) as api,
    ):
        # The list, and a watch that stays silent.
        cluster.answers("GET", NODES, a_list(*names), Answer((b"", 60.0)))
        for name in names:
            cluster.answers("PATCH", f"{NODES}/{name}", an_answer({"metadata": {"resourceVersion": "2"}}))
        heard, metrics = Heard(), PressureMetrics()
        nodes = KnownNodes(api, FIELD_MANAGER, heard.log.warning)
        criteria = Criteria((Rule("cpu", "up", 0.8, clear=0.6),), Mark(), 0.5, MissingDataPolicy(MINUTE))
        writer = Writer(api, criteria.mark, heard.log, metrics, dry_run=False)
        made = Rounds(
            prometheus=asked,
            nodes=nodes,
            criteria=criteria,
            writer=writer,
            interval=0.01,
            stopping=asyncio.Event(),
            status=DependencyStatus(10.0),
            metrics=metrics,
            log=heard.log,
            watchdog=Watchdog(),
            clock=lambda: stage.now,
        )
        stage = Stage(prometheus, cluster, made, heard)
        async with background(nodes.follow(), "nodes"):
            yield stage


async def test_without_a_list_of_nodes_nothing_is_judged() -> None:
    async with a_stage("a", "b") as stage:
        await stage.rounds.nodes.listed.wait()
        stage.answers({"a": 0.9})
        stage.rounds.nodes.listed.clear()
        await stage.go()
        assert stage.rounds.situation is None
        stage.rounds.nodes.listed.set()
        await stage.go()
        assert stage.patched == [("a", {"status": "presure"})]


async def test_one_query_goes_out_for_each_rule_and_round_whatever_becomes_of_it() -> None:
    async with a_stage("a", "b") as stage:
        await stage.rounds.nodes.listed.wait()
        stage.answers({"a": 0.1}, a_status(503), a_status(400, "", "parse error"), {"a": 0.9})
        for _ in range(4):
            await stage.go()
        assert len(stage.prometheus.asked) == 4
        metrics = stage.rounds.metrics
        assert sample(metrics, "restow_pressure_queries_total", rule="cpu", result="failed") == 2
        assert sample(metrics, "restow_pressure_queries_total", rule="cpu", result="answered") == 2
        assert stage.patched == [("a", {"status": "presure"})]


async def test_a_failure_that_lasts_is_told_once_and_that_it_is_over() -> None:
    async with a_stage("a", "b") as stage:
        await stage.rounds.nodes.listed.wait()
        stage.answers({"a": 0.1, "b": 0.1}, a_status(503), a_status(503), {"a": 0.1, "b": 0.1})
        for _ in range(4):
            await stage.go()
        first, second = stage.heard.messages
        assert first.startswith("no query has an answer: Prometheus at http://127.0.0.1")
        assert first.endswith("marks stay as they are for 1m0s, then they are removed")
        assert second == "queries have answers again"


async def test_a_patch_that_is_refused_is_tried_again_and_told_once() -> None:
    async with a_stage("a", "b") as stage:
        await stage.rounds.nodes.listed.wait()
        stage.cluster._answers["PATCH", f"{NODES}/a"].insert(0, a_status(500, "", "etcd is slow"))
        stage.answers({"a": 0.9, "b": 0.1})
        for _ in range(3):
            await stage.go()
        assert len(stage.patched) == 2
        assert [each for each in stage.heard.messages if "could not be written" in each] == [
            "1 marks could not be written, such as that of a: the API server answered 500: etcd is slow; they are tried again"
        ]
        assert "marks can be written again" in stage.heard.messages


async def test_no_round_ends_the_loop() -> None:
    async with a_stage("a") as stage:
        await stage.rounds.nodes.listed.wait()
        stage.answers({"a": 0.1})
        broken = iter([ValueError("odd")])

        def clock() -> int:
            for error in broken:
                raise error
            if len(stage.prometheus.asked) >= 3:
                stage.rounds.stopping.set()
            return 0

        stage.rounds.clock = clock
        async with asyncio.timeout(60):
            await stage.rounds.run(always)
        assert stage.heard.of("A round failed") == [{"err": "odd"}]
        assert len(stage.prometheus.asked) >= 3


async def test_an_api_server_whose_watch_breaks_is_asked_whether_it_answers() -> None:
    async with a_stage("a") as stage:
        await stage.rounds.nodes.listed.wait()
        assert await stage.rounds.nodes.why_silent(1.0) == ""
        assert not [each for each in stage.cluster.asked if each.path == "/version"]
        stage.rounds.nodes._last_contact = None
        stage.cluster.answers("GET", "/version", a_status(503, "", "starting"), an_answer({}))
        status = DependencyStatus(0.005)
        async with background(watch_api_server(stage.rounds.nodes, status, 0.01), "watch"):
            async with asyncio.timeout(60):
                while not [each for each in stage.cluster.asked if each.path == "/version"][1:]:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        assert API_SERVER in status._why


async def test_a_missing_right_to_list_nodes_is_told_with_the_rule() -> None:
    async with a_stage() as stage:
        stage.cluster._answers.clear()
        forbidden = a_status(403, "Forbidden", 'nodes is forbidden: User "me" cannot list resource "nodes"')
        stage.cluster.answers("GET", NODES, forbidden)
        async with asyncio.timeout(60):
            while not stage.heard.messages:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        rule = '{apiGroups: [""], resources: ["nodes"], verbs: [list, watch]}'
        told = f"me may not list and watch nodes; add the rule {rule} to its ClusterRole"
        assert stage.heard.messages == [f"nodes cannot be listed: {told}"]
        assert await stage.rounds.nodes.why_silent(1.0) == told
        assert json.dumps(stage.patched) == "[]"


async def test_whoever_sets_the_clock_changes_no_time_of_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = steady_clock()
    began = clock()
    assert abs(began - time.time_ns()) < MINUTE
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert 0 <= clock() - began < MINUTE
