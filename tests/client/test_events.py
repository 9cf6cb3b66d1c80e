"""Events: written in the background, repeated ones as a series."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from msgspec import structs

from builders.hostile import HALF, OBEYED
from client.double import Answer, Double, a_status, an_answer
from restow.client.events import EventRecorder, Loss, Occurrence, Regarding
from restow.client.transport import Api

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

PATH = "/apis/events.k8s.io/v1/namespaces/dev/events"
POD = Regarding("Pod", "web-1", "dev", "u1")
MOVED = Occurrence(POD, reason="RemoveDuplicates", action="Descheduled", note="pod eviction from n1 node")

WRITTEN = {
    "metadata": {"name": "x", "namespace": "dev"},
    "eventTime": "2026-11-21T00:00:00.000000Z",
    "reportingController": "restow",
    "reportingInstance": "restow-host",
    "action": "Descheduled",
    "reason": "RemoveDuplicates",
    "regarding": {"kind": "Pod", "name": "web-1"},
    "note": "",
    "type": "Normal",
}
OK = an_answer(WRITTEN, 201)


class Losses(Counter[Loss]):
    """How many events were lost, by reason, and what was said of it."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def note(self, reason: Loss, why: str, events: int) -> None:
        self[reason] += events
        self.said.append(why)


def recorder(api: Api, losses: Losses | None = None) -> EventRecorder:
    return EventRecorder(api, "restow", "restow-host", (Losses() if losses is None else losses).note)


def later(double: Double) -> str:
    """Where the event that was created first is replaced."""
    return f"{PATH}/{double.asked[0].json['metadata']['name']}"


async def test_an_event_says_what_happened_to_whom(api: Api, double: Double) -> None:
    double.answers("POST", PATH, OK)
    async with recorder(api) as events:
        events.record(MOVED)

    event = double.asked[0].json
    assert event["metadata"]["name"].startswith("web-1.")
    assert event["metadata"]["namespace"] == "dev"
    assert event["regarding"] == {
        "kind": "Pod",
        "name": "web-1",
        "namespace": "dev",
        "uid": "u1",
        "apiVersion": "v1",
    }
    told = ("type", "reason", "action", "note", "reportingController", "reportingInstance")
    assert [event[name] for name in told] == [
        "Normal",
        "RemoveDuplicates",
        "Descheduled",
        "pod eviction from n1 node",
        "restow",
        "restow-host",
    ]


async def test_events_about_objects_without_namespace_are_kept_in_default(api: Api, double: Double) -> None:
    path = PATH.replace("dev", "default")
    double.answers("POST", path, OK)
    async with recorder(api) as events:
        events.record(Occurrence(Regarding("Node", "n1"), "Why", "What", "note"))

    assert double.asked[0].path == path


async def test_a_repetition_counts_up_the_series_by_an_update(api: Api, double: Double) -> None:
    """The descheduler's role may not patch events."""
    double.answers("POST", PATH, OK)
    async with recorder(api) as events:
        events.record(MOVED)
        await events.flush()
        double.answers("PUT", later(double), OK)
        events.record(MOVED)
        events.record(MOVED)

    assert [asked.method for asked in double.asked] == ["POST", "PUT", "PUT"]
    assert [asked.json["series"]["count"] for asked in double.asked[1:]] == [2, 3]


async def test_another_reason_is_another_event(api: Api, double: Double) -> None:
    double.answers("POST", PATH, OK)
    async with recorder(api) as events:
        events.record(MOVED)
        events.record(Occurrence(POD, "EvictionFailed", "Descheduled", "no", "Warning"))

    assert [asked.method for asked in double.asked] == ["POST", "POST"]
    assert len({asked.json["metadata"]["name"] for asked in double.asked}) == 2


async def test_after_six_minutes_it_is_a_new_event(api: Api, double: Double) -> None:
    double.answers("POST", PATH, OK)
    async with recorder(api) as events:
        events.record(MOVED)
        await asyncio.sleep(361)
        events.record(MOVED)

    assert [asked.method for asked in double.asked] == ["POST", "POST"]


async def test_an_event_that_the_server_has_dropped_is_written_anew(api: Api, double: Double) -> None:
    double.answers("POST", PATH, OK)
    async with recorder(api) as events:
        events.record(MOVED)
        events.record(MOVED)

    assert [asked.method for asked in double.asked] == ["POST", "PUT", "POST"]
    assert double.asked[2].json["series"] is None


@pytest.mark.parametrize("trouble", [a_status(429), a_status(503), Answer((), cut=True)], ids=["429", "503", "reset"])
async def test_trouble_is_waited_for(api: Api, double: Double, trouble: Answer) -> None:
    double.answers("POST", PATH, trouble, trouble, OK)
    async with recorder(api, losses := Losses()) as events:
        events.record(MOVED)

    assert (len(double.asked), losses) == (3, {})


async def test_what_is_refused_is_lost_and_counted_and_stops_nothing(api: Api, double: Double) -> None:
    double.answers("POST", PATH, a_status(403), OK)
    async with recorder(api, losses := Losses()) as events:
        events.record(MOVED)
        events.record(Occurrence(POD, "Other", "Descheduled", "note"))

    assert (len(double.asked), losses) == (2, {"refused": 1})
    assert losses.said == ["the API server answered 403: refused with 403"]


async def test_what_cannot_even_be_sent_is_lost_and_counted_and_stops_nothing(api: Api, double: Double) -> None:
    double.answers("POST", PATH, OK)
    async with recorder(api, losses := Losses()) as events:
        events.record(structs.replace(MOVED, action=f"half a character: {HALF}"))
        events.record(Occurrence(POD, "Other", "Descheduled", "note"))

    assert (len(double.asked), losses) == (1, {"refused": 1})


@pytest.mark.parametrize(
    "trouble", [a_status(503), a_status(429, retry_after=60), Answer((1_000.0,))], ids=["503", "429", "hangs"]
)
async def test_no_event_holds_up_the_others_for_long(api: Api, double: Double, trouble: Answer) -> None:
    """One that the server does not take is tried for half a minute in all, each time for the seconds of a request."""
    double.answers("POST", PATH, trouble)
    async with recorder(api.within(10), losses := Losses()) as events:
        events.record(MOVED)
        await events.flush()
        assert asyncio.get_running_loop().time() <= 30
        assert losses == {"unavailable": 1}


async def test_a_server_that_is_slow_does_not_hold_up_anybody(api: Api, double: Double) -> None:
    double.answers("POST", PATH, Answer((30.0,)), OK)
    events = recorder(api, losses := Losses())
    for number in range(1_005):
        events.record(Occurrence(POD, f"Reason{number}", "Descheduled", "note"))

    assert losses == {"full": 5}
    assert asyncio.get_running_loop().time() == 0


async def test_the_longest_name_of_a_pod_leaves_room(api: Api, double: Double) -> None:
    double.answers("POST", PATH, OK)
    async with recorder(api) as events:
        events.record(Occurrence(Regarding("Pod", "a" * 235 + "-" * 18, "dev"), "Why", "What", "note"))

    name = double.asked[0].json["metadata"]["name"]
    assert len(name) <= 253
    assert "-." not in name


async def test_leaving_does_not_wait_for_ever(api: Api, double: Double) -> None:
    double.answers("POST", PATH, Answer((1_000.0,)))
    async with recorder(api, losses := Losses()) as events:
        for number in range(3):
            events.record(Occurrence(POD, f"Reason{number}", "Descheduled", "note"))

    assert asyncio.get_running_loop().time() == pytest.approx(10, abs=0.1)
    assert losses == {"stopping": 3}


async def test_a_long_note_is_shortened_to_what_the_api_takes(api: Api, double: Double) -> None:
    double.answers("POST", PATH, OK)
    async with recorder(api) as events:
        events.record(Occurrence(POD, "Why", "What", "ä" * 1_000))

    note = double.asked[0].json["note"]
    assert len(note.encode()) <= 1_024
    assert note.endswith("ä...")


async def test_a_note_is_one_line_that_shows_what_it_quotes(api: Api, double: Double) -> None:
    double.answers("POST", PATH, OK)
    async with recorder(api) as events:
        events.record(structs.replace(MOVED, note=f"said {OBEYED}{HALF} at https://me:hunter2@proxy"))

    note = double.asked[0].json["note"]
    assert note.isprintable()
    assert note.endswith("https://[hidden]@proxy")
