"""Who has not answered for three intervals."""

from __future__ import annotations

import asyncio

import pytest

from restow.pressure.status import Status

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


async def test_three_intervals_without_an_answer_are_told_with_the_reason() -> None:
    status = Status(10.0)
    status.heard("Prometheus", "")
    await asyncio.sleep(30)
    status.heard("Prometheus", "connection refused")
    assert status.trouble() == ""
    await asyncio.sleep(1)
    assert status.trouble() == "Prometheus has not answered for 31 s: connection refused"
    status.heard("Prometheus", "")
    assert status.trouble() == ""


async def test_who_is_not_asked_is_not_missed() -> None:
    status = Status(1.0)
    await asyncio.sleep(100)
    assert status.trouble() == ""
    status.expect("Prometheus")
    await asyncio.sleep(4)
    assert status.trouble() == "Prometheus has not answered for 4 s"
