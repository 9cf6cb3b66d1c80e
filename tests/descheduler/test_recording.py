"""Events that are lost."""

from __future__ import annotations

import asyncio

import pytest

from client.double import Answer, a_double, a_status, an_answer, an_api
from descheduler.hearing import Heard, sample
from restow.client.events import Occurrence, Regarding
from restow.descheduler.reporter import recording
from restow.serving.metrics import Metrics

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

PATH = "/apis/events.k8s.io/v1/namespaces/default/events"
WRITTEN = {
    "metadata": {},
    "eventTime": "",
    "reportingController": "",
    "reportingInstance": "",
    "action": "",
    "reason": "",
    "regarding": {"kind": "Pod", "name": "web-0"},
    "note": "",
    "type": "Normal",
}
OK = an_answer(WRITTEN, 201)


async def recorded(number: int, *answers: Answer, path: str = PATH) -> tuple[Heard, Metrics, float]:
    """What is heard and counted of so many events, and how long it took."""
    heard, metrics = Heard(), Metrics()
    async with a_double() as double, an_api(double.url) as api:
        double.answers("POST", path, *answers)
        began = asyncio.get_running_loop().time()
        async with recording(api, log=heard.log, metrics=metrics) as events:
            for each in range(number):
                events.record(Occurrence(Regarding("Pod", f"web-{each}", "default"), "Why", "Descheduled", "a note"))
        return heard, metrics, asyncio.get_running_loop().time() - began


def lost(metrics: Metrics) -> dict[str, float | None]:
    reasons = ("full", "refused", "unavailable", "stopping")
    return {each: sample(metrics, "restow_events_lost_total", reason=each) for each in reasons}


async def test_what_the_server_refuses_is_counted_and_told_once() -> None:
    heard, metrics, _ = await recorded(3, a_status(403, message="may not create events"))
    assert lost(metrics) == {"full": 0, "refused": 3, "unavailable": 0, "stopping": 0}
    (said,) = heard.messages
    assert said.startswith("an event could not be written: the API server answered 403: may not create events; ")


async def test_what_does_not_fit_into_the_queue_and_what_no_time_is_left_for_is_counted() -> None:
    heard, metrics, seconds = await recorded(1_002, Answer((1_000.0,)))
    assert lost(metrics) == {"full": 2, "refused": 0, "unavailable": 0, "stopping": 1_000}
    assert len(heard.messages) == 2
    assert seconds == pytest.approx(10, abs=0.5)


async def test_nothing_is_lost_where_the_server_answers() -> None:
    heard, metrics, _ = await recorded(1, OK)
    assert set(lost(metrics).values()) == {0}
    assert heard.messages == []
