"""When an operator syncs, in virtual time; what kopf does is played."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from builders.kubedeschedulers import INSTALLED, an_object
from builders.memory_api import MemoryApi
from descheduler.hearing import Heard, sample
from restow.client.errors import ServerTrouble
from restow.client.transport import Call, Permit, always
from restow.operator import daemon
from restow.operator.daemon import RESYNC, _Work
from restow.operator.resource import NAMESPACE
from restow.operator.status import OperatorMetrics
from restow.operator.syncing import FINALIZER
from restow.serving.health import Watchdog

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

RESOURCE = f"/apis/operator.openshift.io/v1/namespaces/{NAMESPACE}/kubedeschedulers/cluster"
SYNCS = "/apis/operator.openshift.io/v1/kubedeschedulers"


@dataclass
class Played:
    """An operator at work, and the events that it is told of."""

    api: MemoryApi = field(default_factory=MemoryApi)
    heard: Heard = field(default_factory=Heard)
    #: When each sync began.
    syncs: list[float] = field(default_factory=list)
    failing: int = 0
    metrics: OperatorMetrics = field(default_factory=OperatorMetrics)
    watchdog: Watchdog = field(default_factory=Watchdog)
    changed: Callable[[], None] = lambda: None
    left: Callable[[], Awaitable[None]] | None = None

    def __post_init__(self) -> None:
        thing = an_object("LongLifecycle")
        thing["metadata"] |= {"uid": "u-1", "generation": 1, "finalizers": [FINALIZER]}
        self.api.put(RESOURCE, thing)
        self.api.trouble = self.asked

    def asked(self, method: str, path: str) -> None:
        if path == SYNCS:
            self.syncs.append(asyncio.get_running_loop().time())
            if self.failing:
                self.failing -= 1
                raise ServerTrouble(503, "ServiceUnavailable", "not now")

    def made(self) -> int:
        return sum("ownerReferences" in each["metadata"] for each in self.api.stored.values())

    @asynccontextmanager
    async def working(self, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
        stopping = asyncio.Event()

        async def watch(*_: Any, changed: Any, left: Any, stopping: asyncio.Event, after_start: Any) -> None:
            self.changed, self.left = changed, left
            await stopping.wait()

        monkeypatch.setattr(daemon, "watch", watch)
        api: Any = self.api
        work = asyncio.ensure_future(
            _Work(INSTALLED, api, self.heard.log, stopping, lambda: None, self.metrics, self.watchdog).run(always)
        )
        try:
            await asyncio.sleep(1)
            yield
        finally:
            stopping.set()
            await work


async def test_it_syncs_at_the_start_and_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played()
    async with played.working(monkeypatch):
        assert len(played.syncs) == 1
        whole = played.made()
        played.api.stored = {path: each for path, each in played.api.stored.items() if path == RESOURCE}
        await asyncio.sleep(RESYNC)
        assert (len(played.syncs), played.made()) == (2, whole)


async def test_syncs_and_conditions_are_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(failing=1)

    def told(name: str, **labels: str) -> float | None:
        return sample(played.metrics, f"restow_operator_{name}", **labels)

    async with played.working(monkeypatch):
        assert told("syncs_total", result="failed") == 1
        assert (told("last_sync_timestamp_seconds"), told("condition", condition="Degraded")) == (0, None)
        await asyncio.sleep(5)
        assert (told("syncs_total", result="failed"), told("syncs_total", result="done")) == (1, 1)
        assert told("sync_duration_seconds_count") == 2
        assert told("last_sync_timestamp_seconds") == played.api.server_time.now()
        assert told("condition", condition="Degraded") == 0
        assert told("condition", condition="Progressing") == 1

        played.api.stored[RESOURCE]["spec"]["profiles"] = []
        played.changed()
        await asyncio.sleep(2)
        assert told("condition", condition="Degraded") == 1

        del played.api.stored[RESOURCE]
        played.changed()
        await asyncio.sleep(2)
        assert told("condition", condition="Degraded") is None


async def test_a_replica_that_leads_no_more_tells_nothing_of_the_resource() -> None:
    metrics = OperatorMetrics()
    metrics.leads(True)
    metrics.conditions([{"type": "Degraded", "status": "True"}])
    metrics.leads(False)
    assert sample(metrics, "restow_operator_condition", condition="Degraded") is None
    assert sample(metrics, "restow_operator_leader") == 0


async def test_a_sync_without_end_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played()

    async def endless(*_: Any, **__: Any) -> bytes:
        await asyncio.sleep(1e6)
        raise AssertionError

    async with played.working(monkeypatch):
        await asyncio.sleep(2000)
        assert played.watchdog.stuck() == ""
        monkeypatch.setattr(MemoryApi, "send", endless)
        monkeypatch.setattr(MemoryApi, "read", endless, raising=False)
        played.changed()
        await asyncio.sleep(2000)
        assert played.watchdog.stuck() == "the operator: no end of a sync for 900 s"


async def test_many_changes_at_a_time_are_one_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played()
    async with played.working(monkeypatch):
        for _ in range(10):
            played.changed()
            await asyncio.sleep(0.01)
        await asyncio.sleep(1)
        assert len(played.syncs) == 2


async def test_one_that_fails_is_tried_again_with_growing_pauses_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(failing=4)
    async with played.working(monkeypatch):
        await asyncio.sleep(RESYNC - 2)
        pauses = [after - before for before, after in zip(played.syncs, played.syncs[1:], strict=False)]
        assert len(pauses) == 4
        assert pauses[0] < pauses[-1]
        assert played.made()
    failures = played.heard.of("Sync failed")
    assert [each["err"] for each in failures] == ["the API server answered 503 ServiceUnavailable: not now"] * 4


async def test_a_removal_waits_for_the_sync_that_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played()
    quick = played.api.send

    async def slow(call: Call, *, permit: Permit | None = None) -> bytes:
        await asyncio.sleep(0.1)
        return await quick(call, permit=permit)

    async with played.working(monkeypatch):
        monkeypatch.setattr(played.api, "send", slow)
        played.api.stored = {path: each for path, each in played.api.stored.items() if path == RESOURCE}
        played.changed()
        await asyncio.sleep(2.5)
        assert 0 < played.made() < 9
        assert played.left is not None
        await played.left()
        assert played.made() == 0
