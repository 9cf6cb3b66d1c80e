"""QPS and burst as client-go's token bucket has them, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from restow.client.flow_control import TokenBucket, rate_limit

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


async def times(bucket: TokenBucket, requests: int) -> list[float]:
    """When each of so many simultaneous requests goes out."""

    async def request() -> float:
        await bucket.take()
        return asyncio.get_running_loop().time()

    return list(await asyncio.gather(*(request() for _ in range(requests))))


async def test_the_burst_goes_out_at_once_and_the_rest_in_turn() -> None:
    assert await times(TokenBucket(5, 3), 6) == pytest.approx([0, 0, 0, 0.2, 0.4, 0.6])


async def test_an_idle_bucket_never_holds_more_than_its_burst() -> None:
    bucket = TokenBucket(5, 2)
    await bucket.take()
    await asyncio.sleep(100)

    assert await times(bucket, 3) == pytest.approx([100, 100, 100.2])


async def test_a_request_that_was_given_up_returns_its_turn() -> None:
    bucket = TokenBucket(1, 1)
    await bucket.take()
    given_up = asyncio.create_task(bucket.take())
    await asyncio.sleep(0.5)
    given_up.cancel()
    await asyncio.wait([given_up])

    assert await times(bucket, 1) == pytest.approx([1.0])


@pytest.mark.parametrize(
    ("qps", "burst", "expected"),
    [
        pytest.param(0, 0, (50, 300), id="the defaults of kubectl"),
        pytest.param(50, 100, (50, 100), id="as given"),
        pytest.param(-1, 10, None, id="negative: no limit"),
    ],
)
async def test_flag_values(qps: float, burst: int, expected: tuple[float, int] | None) -> None:
    limit = rate_limit(qps, burst)

    assert (limit and (limit.qps, limit.burst)) == expected
