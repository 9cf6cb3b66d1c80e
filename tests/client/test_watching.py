"""One stream of a watch."""

from __future__ import annotations

import json

import pytest

from client.double import Answer, Double, a_status, an_error_event, an_event
from restow.client.errors import Gone, MalformedReply, ServerTrouble, Unreachable
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.client.watching import Change, Changed, Current, Removed, watch
from restow.kube.objects import Unreadable

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

PATH = "/api/v1/pods"


async def watched(api: Api, seen: list[tuple[str, Change]] | None = None) -> list[tuple[str, Change]]:
    seen = [] if seen is None else seen
    async for event in watch(api, RESOURCES["Pod"], "10"):
        seen.append(event)
    return seen


def told(event: tuple[str, Change]) -> tuple[type, str, str]:
    version, change = event
    return type(change), "" if isinstance(change, Current) else change.object.metadata.name, version


LINES = (
    an_event("ADDED", "a", "11")
    + an_event("MODIFIED", "a", "12")
    + an_event("DELETED", "a", "13")
    + an_event("BOOKMARK", "", "20")
)
EVENTS = [(Changed, "a", "11"), (Changed, "a", "12"), (Removed, "a", "13"), (Current, "", "20")]


async def test_events_until_the_server_ends_the_stream(api: Api, double: Double) -> None:
    double.answers("GET", PATH, Answer((LINES,)))

    assert [told(event) for event in await watched(api)] == EVENTS

    params = dict(double.asked[0].params)
    assert 300 <= int(params.pop("timeoutSeconds")) <= 600
    assert params == {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": "10"}


@pytest.mark.parametrize("size", [1, 7, 64])
async def test_lines_arrive_in_pieces_of_any_size(api: Api, double: Double, size: int) -> None:
    pieces = tuple(LINES[at : at + size] for at in range(0, len(LINES), size))
    double.answers("GET", PATH, Answer(tuple(each for piece in pieces for each in (piece, 0.01))))

    assert [told(event) for event in await watched(api)] == EVENTS


async def test_hours_of_events_and_bookmarks_are_one_stream(api: Api, double: Double) -> None:
    bookmarks = tuple(each for at in range(4) for each in (60.0, an_event("BOOKMARK", "", str(at))))
    double.answers("GET", PATH, Answer(bookmarks))

    assert len(await watched(api)) == 4


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(a_status(410, "Expired"), Gone, id="410 at once"),
        pytest.param(Answer((LINES, an_error_event(410, "Expired"))), Gone, id="410 in the stream"),
        pytest.param(a_status(503), ServerTrouble, id="503"),
        pytest.param(Answer((LINES, an_error_event(500, "InternalError"))), ServerTrouble, id="500 in the stream"),
        pytest.param(Answer((LINES,), cut=True), Unreachable, id="reset"),
        pytest.param(Answer((LINES, b'{"type": "ADD'), cut=True), Unreachable, id="reset in the middle of a line"),
        pytest.param(Answer((LINES, b'{"type": "ADD')), Unreachable, id="an end in the middle of a line"),
        pytest.param(Answer((LINES, b'{"type": "ADD\n')), Unreachable, id="half a line"),
        pytest.param(Answer((LINES, 1_000.0)), Unreachable, id="silence"),
        pytest.param(Answer((LINES, b'{"type": "NEW", "object": {}}\n')), MalformedReply, id="unknown type"),
    ],
)
async def test_what_came_before_trouble_is_not_lost(
    api: Api, double: Double, answer: Answer, error: type[Exception]
) -> None:
    double.answers("GET", PATH, answer)

    seen: list[tuple[str, Change]] = []
    with pytest.raises(error):
        await watched(api, seen)

    assert [told(event) for event in seen] in (EVENTS, [])


async def test_a_long_unknown_type_is_quoted_by_its_beginning(api: Api, double: Double) -> None:
    double.answers("GET", PATH, Answer((b'{"type": "%s", "object": {}}\n' % (b"Q" * 5_000),)))

    with pytest.raises(MalformedReply) as raised:
        await watched(api)

    assert len(str(raised.value)) < 300


@pytest.mark.parametrize("what", ["ADDED", "MODIFIED", "DELETED"])
async def test_an_event_with_an_unreadable_object_names_it_and_the_stream_goes_on(
    api: Api, double: Double, what: str
) -> None:
    odd = {"metadata": {"name": "odd", "resourceVersion": "10"}, "spec": {"priority": "high"}}
    line = json.dumps({"type": what, "object": odd}).encode() + b"\n"
    double.answers("GET", PATH, Answer((line, LINES)))

    first, *others = await watched(api)
    assert isinstance(first[1], Changed | Removed)
    assert isinstance(first[1].object, Unreadable)
    assert told(first)[1:] == ("odd", "10")
    assert [told(event) for event in others] == EVENTS


async def test_a_stream_that_drips_for_ever_ends(api: Api, double: Double) -> None:
    double.answers("GET", PATH, Answer((b" ", 60.0) * 20))

    with pytest.raises(Unreachable, match="in time"):
        await watched(api)
