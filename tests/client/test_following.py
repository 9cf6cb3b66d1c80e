"""List and watch for ever, through everything that a server can do meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from client.double import Answer, Double, a_list, a_status, an_error_event, an_event
from restow.client.errors import Forbidden, NotFound
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.client.watching import Changed, Current, Interrupted, Listed, Removed, WatchEvent, follow

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

PATH = "/api/v1/pods"
HANG = Answer((10_000.0,))


async def following(api: Api, enough: int) -> list[WatchEvent]:
    """So many pieces of news."""
    seen: list[WatchEvent] = []
    async with aclosing(follow(api, RESOURCES["Pod"])) as news, asyncio.timeout(3_600):
        async for each in news:
            seen.append(each)
            if len(seen) == enough:
                break
    return seen


def told(news: WatchEvent) -> str:
    match news:
        case Listed(objects, _, last):
            return f"listed {' '.join(each.metadata.name for each in objects)}{' .' if last else ''}"
        case Changed(pod):
            return f"changed {pod.metadata.name}"
        case Removed(pod):
            return f"removed {pod.metadata.name}"
        case Interrupted():
            return "interrupted"
        case Current():
            return "current"


async def test_the_list_comes_first_and_says_when_it_is_complete(api: Api, double: Double) -> None:
    double.answers(
        "GET",
        PATH,
        a_list("a", proceed="more"),
        a_list("b"),
        Answer((an_event("ADDED", "c", "11") + an_event("BOOKMARK", "", "15") + an_event("DELETED", "a", "16"),)),
        HANG,
    )

    seen = await following(api, 5)

    assert [told(each) for each in seen] == ["listed a", "listed b .", "changed c", "current", "removed a"]
    assert double.asked[2].params["resourceVersion"] == "10"


async def test_a_watch_goes_on_from_the_last_version_even_one_of_a_bookmark(api: Api, double: Double) -> None:
    double.answers(
        "GET",
        PATH,
        a_list("a"),
        Answer((an_event("MODIFIED", "a", "11"),)),
        Answer((an_event("BOOKMARK", "", "50"),), cut=True),
        Answer((an_event("MODIFIED", "a", "51"),)),
        HANG,
    )

    seen = await following(api, 5)

    assert [told(each) for each in seen] == ["listed a .", "changed a", "current", "interrupted", "changed a"]
    assert [asked.params["resourceVersion"] for asked in double.asked[1:]] == ["10", "11", "50"]


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(a_status(410, "Expired"), id="410"),
        pytest.param(Answer((an_error_event(410, "Expired"),)), id="410 in the stream"),
    ],
)
async def test_a_forgotten_version_means_a_new_list_at_once(api: Api, double: Double, gone: Answer) -> None:
    double.answers("GET", PATH, a_list("a"), gone, a_list("b", version="90"), HANG)

    seen = await following(api, 2)

    assert [told(each) for each in seen] == ["listed a .", "listed b ."]
    assert double.asked[2].at - double.asked[0].at < 1


async def test_a_version_that_is_forgotten_after_an_outage_means_a_new_list_at_once_too(
    api: Api, double: Double
) -> None:
    down = [a_status(503)] * 6
    double.answers("GET", PATH, a_list("a"), *down, a_status(410, "Expired"), a_list("b", version="90"), HANG)

    seen = await following(api, 8)

    assert [told(each) for each in seen] == ["listed a .", *["interrupted"] * 6, "listed b ."]
    assert double.asked[8].at - double.asked[7].at < 1


async def test_a_kind_that_is_silent_after_an_outage_is_listed_anew(api: Api, double: Double) -> None:
    down, silence = [a_status(503)] * 2, Answer((6.0,))
    double.answers("GET", PATH, a_list("a"), *down, silence, a_list("b", version="90"), HANG)

    seen = [told(each) for each in await following(api, 4)]

    assert seen == ["listed a .", "interrupted", "interrupted", "listed b ."]
    assert int(double.asked[3].params["timeoutSeconds"]) == 6


async def test_a_connection_that_is_cut_once_and_made_again_is_no_outage(api: Api, double: Double) -> None:
    double.answers("GET", PATH, a_list("a"), a_status(503), Answer((50.0, an_event("MODIFIED", "a", "11"))), HANG)

    seen = [told(each) for each in await following(api, 3)]

    assert seen == ["listed a .", "interrupted", "changed a"]
    assert int(double.asked[2].params["timeoutSeconds"]) > 60


async def test_a_kind_of_which_something_comes_after_an_outage_is_not_listed(api: Api, double: Double) -> None:
    short = Answer((an_event("MODIFIED", "a", "11"), 6.0))
    double.answers(
        "GET", PATH, a_list("a"), *[a_status(503)] * 2, short, Answer((an_event("MODIFIED", "a", "12"),)), HANG
    )

    seen = [told(each) for each in await following(api, 5)]

    assert seen == ["listed a .", "interrupted", "interrupted", "changed a", "changed a"]
    assert int(double.asked[-1].params["timeoutSeconds"]) > 60


async def test_a_server_that_forgets_everything_is_not_asked_for_lists_without_pause(api: Api, double: Double) -> None:
    double.answers("GET", PATH, *(a_list("a"), a_status(410, "Expired")) * 5, HANG)

    await following(api, 8)

    assert double.asked[-1].at > 5


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(a_status(401, "Unauthorized"), id="expired token"),
        pytest.param(a_status(429, retry_after=3), id="429"),
        pytest.param(a_status(500), id="500"),
        pytest.param(a_status(503), id="503"),
        pytest.param(Answer((), cut=True), id="reset"),
        pytest.param(Answer((b"{}",)), id="not an event"),
    ],
)
async def test_trouble_is_told_waited_for_and_survived(api: Api, double: Double, trouble: Answer) -> None:
    double.answers("GET", PATH, a_list("a"), *[trouble] * 4, Answer((an_event("ADDED", "b", "11"),), cut=True), HANG)

    seen = [told(each) async for each in _until_interrupted_after_a_change(api)]

    assert seen[0] == "listed a ."
    assert set(seen[1:-2]) == {"interrupted"}
    assert seen[-2:] == ["changed b", "interrupted"]
    assert all(asked.params["resourceVersion"] == "10" for asked in double.asked[1:])


async def _until_interrupted_after_a_change(api: Api) -> AsyncIterator[WatchEvent]:
    changed = False
    async with aclosing(follow(api, RESOURCES["Pod"])) as news:
        async for each in news:
            yield each
            if changed:
                return
            changed = isinstance(each, Changed)


async def test_pauses_grow_to_a_minute_and_start_anew_after_an_event(api: Api, double: Double) -> None:
    down = [a_status(503)] * 8
    double.answers("GET", PATH, a_list("a"), *down, Answer((an_event("ADDED", "b", "11"),)), a_status(503), HANG)

    pauses = [each.pause for each in await following(api, 11) if isinstance(each, Interrupted)]

    assert 0.8 <= pauses[0] <= 1.6
    assert 30 <= pauses[7] <= 60
    assert pauses[8] <= 1.6


async def test_a_watch_cut_every_second_loses_nothing(api: Api, double: Double) -> None:
    streams = [Answer((1.0, an_event("MODIFIED", "a", str(at))), cut=True) for at in range(11, 31)]
    double.answers("GET", PATH, a_list("a"), *streams, HANG)

    seen = await following(api, 41)

    assert sum(isinstance(each, Changed) for each in seen) == 20
    assert [asked.params["resourceVersion"] for asked in double.asked[1:21]] == [str(at) for at in range(10, 30)]


async def test_streams_that_end_as_soon_as_they_begin_are_not_asked_for_without_pause(api: Api, double: Double) -> None:
    double.answers("GET", PATH, a_list("a"), Answer(()))

    await following(api, 6)

    assert double.asked[-1].at > 5


@pytest.mark.parametrize(
    ("code", "error"), [pytest.param(403, Forbidden, id="no right"), pytest.param(404, NotFound, id="no such kind")]
)
async def test_what_does_not_pass_is_raised(api: Api, double: Double, code: int, error: type[Exception]) -> None:
    double.answers("GET", PATH, a_status(code))

    with pytest.raises(error):
        await following(api, 1)
