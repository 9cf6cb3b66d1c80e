"""A recording of an API server through everything that connections do; in virtual time, real server elsewhere."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import pytest_asyncio

from builders import a_node, a_pod
from builders.recordings import NO_LIMITS
from live.apiserver import ApiServer, an_api_server
from live.test_cluster import VirtualTime, change, populate
from restow.client.transport import Api
from restow.errors import ClientError
from restow.recordings.following import Recorder
from restow.recordings.reading import RecordedSpan, read_recording
from restow.recordings.redaction import Redactor
from restow.recordings.writing import RecordingWriter, segments

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

_KINDS = ("Node", "Pod", "Service")
#: Seconds in which any watch or list has caught up.
_LONG = 900.0


@pytest_asyncio.fixture
async def served() -> AsyncIterator[tuple[ApiServer, Api]]:
    async with an_api_server() as (server, api):
        api.server_time = VirtualTime()
        yield server, api


class Kept:
    """A recorder at work."""

    def __init__(self, directory: Path, api: Api, *kinds: str) -> None:
        self.warnings: list[str] = []
        self.directory = directory
        self.begun = asyncio.Event()
        self._writer = RecordingWriter(directory, NO_LIMITS, self.warnings.append)
        self.recorder = Recorder(
            api, self._writer, Redactor(b"key"), self.warnings.append, self.begun.set, 0.0, kinds or _KINDS
        )

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Record meanwhile, from when everything is known."""
        task = asyncio.ensure_future(self.recorder.run())
        try:
            async with asyncio.timeout(_LONG):
                await self.begun.wait()
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            self._writer.close(self.recorder.now())

    def span(self) -> RecordedSpan:
        """All of it."""
        return read_recording(str(self.directory), None, None)


def at_the_end(span: RecordedSpan) -> dict[tuple[str, str, str], str]:
    """The objects that there are after the last change, with a label that says which version each is."""
    state = {
        (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in span.start
    }
    for each in span.changes:
        if each.new is None:
            del state[each.key]
        else:
            state[each.key] = each.new
    return {key: str(each["metadata"].get("labels")) for key, each in state.items()}


def there(server: ApiServer) -> dict[tuple[str, str, str], str]:
    return {
        (kind, *key): str(each["metadata"].get("labels"))
        for kind in _KINDS
        for key, each in server.objects[kind].items()
    }


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_connections_do_the_recording_ends_with_what_is_there(served, tmp_path: Path, seed: int):
    """Watches are cut each second, versions are forgotten, and now and then nothing answers."""
    server, api = served
    chance, kept = random.Random(seed), Kept(tmp_path, api)
    populate(server)
    server.cut_after = 1.0
    async with kept.at_work():
        for _ in range(60):
            change(server, chance)
            await asyncio.sleep(chance.random())
            server.dead = chance.random() < 0.1
            if server.dead:
                server.die()
            if chance.random() < 0.1:
                server.forget()
        server.dead = False
        await asyncio.sleep(_LONG)
    assert at_the_end(kept.span()) == there(server)


async def test_a_change_is_recorded_at_its_time(served, tmp_path: Path):
    server, api = served
    populate(server)
    kept = Kept(tmp_path, api)
    async with kept.at_work():
        await asyncio.sleep(100)
        at = kept.recorder.now()
        server.put("Pod", a_pod("late", node="n1"))
        await asyncio.sleep(10)
    (found,) = kept.span().changes
    assert found.key == ("Pod", "default", "late")
    assert abs(found.at - at) < 100


async def test_a_kind_that_is_refused_is_named_once_and_is_a_gap(served, tmp_path: Path):
    server, api = served
    populate(server)
    server.refused["Service"] = 403
    kept = Kept(tmp_path, api)
    async with kept.at_work():
        await asyncio.sleep(_LONG)
        server.refused.clear()
        await asyncio.sleep(_LONG)
    sentence, later = kept.warnings
    assert sentence.startswith("Service is not recorded: ")
    assert later == "Service is recorded now"
    assert 'resources: ["services"], verbs: [list, watch]' in sentence
    (gap,) = kept.span().gaps
    assert gap.kind == "Service"
    assert at_the_end(kept.span()) == there(server)


async def test_without_nodes_nothing_is_recorded(served, tmp_path: Path):
    server, api = served
    server.refused["Node"] = 403
    with pytest.raises(ClientError, match="nodes"):
        async with Kept(tmp_path, api).at_work():
            pass


async def test_an_object_that_cannot_be_read_is_named_once_and_left_out(served, tmp_path: Path, monkeypatch):
    server, api = served
    populate(server)
    kept = Kept(tmp_path, api)
    redacted = Redactor.redacted

    def broken(self: Redactor, kind: str, data: bytes):
        if b'"odd"' in data:
            raise RecursionError
        return redacted(self, kind, data)

    monkeypatch.setattr(Redactor, "redacted", broken)
    async with kept.at_work():
        for version in range(3):
            server.put("Pod", a_pod("odd", labels={"v": str(version)}))
            await asyncio.sleep(1)
        server.put("Node", a_node("n9"))
        await asyncio.sleep(1)
    (sentence,) = kept.warnings
    assert sentence.startswith("Pod default/odd is not recorded: ")
    assert [each.key for each in kept.span().changes] == [("Node", "", "n9")]


async def test_an_hour_begins_a_segment_while_nothing_happens(served, tmp_path: Path):
    server, api = served
    populate(server)
    kept = Kept(tmp_path, api)
    async with kept.at_work():
        await asyncio.sleep(3 * 3600 + 60)
    assert len(segments(tmp_path)) == 4
    assert not kept.span().gaps
