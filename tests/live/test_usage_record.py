"""Samples of metrics.k8s.io: one in each interval, of what was measured since."""

from __future__ import annotations

import pytest

from restow.kube.objects import ContainerMetrics, NodeMetrics, ObjectMeta, PodMetrics
from restow.kube.timestamps import SECOND, format_time
from restow.live.usage_record import UsageRecord
from restow.usage.measured import KEY, OF_PODS

pytestmark = pytest.mark.asyncio

START = 1_795_219_200


def of_node(cpu: str, at: int | None = None, name: str = "a") -> NodeMetrics:
    return NodeMetrics(ObjectMeta(name=name), {"cpu": cpu}, None if at is None else format_time(at * SECOND))


def of_pod(*usages: dict[str, str]) -> PodMetrics:
    return PodMetrics(ObjectMeta(name="p", namespace="team"), tuple(ContainerMetrics(usage=each) for each in usages))


@pytest.fixture
def record() -> UsageRecord:
    made = UsageRecord()
    made.keep(600, 60)
    return made


def times(record: UsageRecord) -> list[int]:
    return (record.known[KEY].times - START).tolist()


async def test_there_is_one_sample_in_each_interval(record: UsageRecord) -> None:
    for at in range(0, 300, 5):
        await record.take("NodeMetrics", [of_node("1")], START + at)
    assert times(record) == [0, 60, 120, 180, 240]


async def test_a_sample_is_of_when_it_was_measured(record: UsageRecord) -> None:
    await record.take("NodeMetrics", [of_node("1", START + 7), of_node("2", START + 3, "b")], START + 20)
    assert times(record) == [7]


async def test_what_was_not_measured_again_is_no_new_sample(record: UsageRecord) -> None:
    await record.take("NodeMetrics", [of_node("1", START), of_node("1", START, "b")], START + 10)
    await record.take("NodeMetrics", [of_node("1", START), of_node("1", START, "b")], START + 90)
    assert times(record) == [0]
    await record.take("NodeMetrics", [of_node("2", START + 90), of_node("1", START, "b")], START + 95)
    assert [len(record.known[KEY].samples(each, "cpu", START + 99).times) for each in ("a", "b")] == [2, 1]


async def test_a_pod_counts_with_all_its_containers_and_not_with_what_one_leaves_out(record: UsageRecord) -> None:
    await record.take("PodMetrics", [of_pod({"cpu": "1", "memory": "5"}, {"cpu": "500m"})], START)
    found = record.known[OF_PODS]
    assert found.names == ("team/p",)
    assert found.samples("team/p", "cpu", START).values.tolist() == [1500]
    assert not len(found.samples("team/p", "memory", START).times)


async def test_what_cannot_be_read_is_left_out(record: UsageRecord) -> None:
    await record.take("NodeMetrics", [of_node("much"), of_node("1", name="b")], START)
    assert record.known[KEY].names == ("b",)


async def test_nothing_is_kept_that_nobody_asks_for(record: UsageRecord) -> None:
    await record.take("NodeMetrics", [of_node("1")], START)
    record.keep(0, 0)
    await record.take("NodeMetrics", [of_node("1")], START + 100)
    assert not record.known
