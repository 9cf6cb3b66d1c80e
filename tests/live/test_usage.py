"""Usage from every source that a policy names: what each is asked, and that nothing that a package does ends a cycle."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from typing import Any

import msgspec
import numpy as np
import pytest
import pytest_asyncio
from msgspec import Struct

from builders.entry_points import entry_points, offering
from client.double import Double, an_answer, an_api
from descheduling.harness import a_policy
from restow.client.transport import Api
from restow.cluster.usage_samples import QueryResult, UsageQuery
from restow.descheduling.registry import plugins
from restow.live import usage as module
from restow.live.usage import QueriedUsage
from restow.policies.load import load_policy
from restow.policies.policy import Policy
from restow.usage.sources import Sample, Times, UsageSource, UsageSourceSchema, usage_schemas

pytestmark = pytest.mark.asyncio

LIMITS = {"thresholds": {"MetricResource": 30}, "targetThresholds": {"MetricResource": 50}}
OWN = UsageQuery("Own", "load")
OF_PROMETHEUS = UsageQuery("Prometheus", "up")


class Args(Struct, frozen=True):
    url: str = ""


#: Installs a source whose samples this function gives.
Install = Callable[[Callable[[Args, str, Times], Any]], None]


@pytest.fixture
def install() -> Iterator[Install]:
    with ExitStack() as stack:

        def offer(samples: Callable[[Args, str, Times], Any]) -> None:
            source = UsageSource(UsageSourceSchema("Own", Args), samples)
            stack.enter_context(entry_points(offering("Own", source)))

        yield offer


@pytest_asyncio.fixture
async def api(double: Double) -> AsyncIterator[Api]:
    async with an_api(double.url) as made:
        yield made


def policy(**restow: Any) -> Policy:
    usage = {"metricsUtilization": {"source": "Own", "query": "load"}}
    providers = [{"source": "Own", "args": {"url": "http://own"}}]
    document = a_policy("LowNodeUtilization", LIMITS | usage, metricsProviders=providers, restow=restow)
    return load_policy(msgspec.json.encode(document), "policy.json", plugins(), usage_schemas()).policy


async def result(api: Api) -> QueryResult:
    found = await QueriedUsage(api, {}).results(policy())
    assert list(found) == [OWN]
    return found[OWN]


async def test_a_source_is_asked_the_query_with_its_arguments(api: Api, install: Install) -> None:
    asked: list[tuple[Args, str, Times]] = []

    def samples(args: Args, query: str, times: Times) -> Iterator[Sample]:
        asked.append((args, query, times))
        yield "n1", times.now - 5, 0.25
        yield "n2", times.now, 1
        yield "n1", times.now - 65, np.float64(0.5)

    install(samples)
    found = await result(api)
    ((args, query, times),) = asked
    assert (args, query, times.reach, times.step) == (Args("http://own"), "load", 0, 0)
    assert found.problem == ""
    assert found.at == times.now
    assert [(each.node, each.values.tolist()) for each in found.samples] == [("n1", [0.5, 0.25]), ("n2", [1.0])]


async def test_a_percentile_asks_for_the_times_of_its_window(api: Api, install: Install) -> None:
    asked: list[Times] = []

    def samples(_args: Args, _query: str, times: Times) -> list[Sample]:
        asked.append(times)
        return []

    install(samples)
    await QueriedUsage(api, {}).results(policy(usage={"percentile": 95, "window": "1h"}))
    assert [(each.reach, each.step) for each in asked] == [(3600, 60)]


async def test_each_source_answers_its_own_queries(double: Double, api: Api, install: Install) -> None:
    install(lambda _args, _query, times: [("n1", times.now, 0.25)])
    vector = [{"metric": {"instance": "n1"}, "value": [100.0, "0.5"]}]
    double.answers("GET", "/api/v1/query", an_answer({"data": {"resultType": "vector", "result": vector}}))
    profiles = [
        {
            "name": name,
            "pluginConfig": [{"name": "LowNodeUtilization", "args": LIMITS | {"metricsUtilization": usage}}],
            "plugins": {"balance": {"enabled": ["LowNodeUtilization"]}},
        }
        for name, usage in (
            ("a", {"source": "Own", "query": "load"}),
            ("b", {"source": "Prometheus", "prometheus": {"query": "up"}}),
        )
    ]
    document = {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "metricsProviders": [{"source": "Own"}, {"source": "Prometheus", "prometheus": {"url": double.url}}],
        "profiles": profiles,
    }
    asked = load_policy(msgspec.json.encode(document), "policy.json", plugins(), usage_schemas()).policy
    found = await QueriedUsage(api, {}).results(asked)
    assert {query: each.samples[0].values.tolist() for query, each in found.items()} == {
        OWN: [0.25],
        OF_PROMETHEUS: [0.5],
    }


def raising(error: BaseException) -> Callable[..., Any]:
    def samples(*_: Any) -> Any:
        raise error

    return samples


@pytest.mark.parametrize(
    ("samples", "problem"),
    [
        pytest.param(raising(ValueError("of\n no use")), "raised ValueError: of no use", id="raises"),
        pytest.param(raising(OSError("http://me:s3cret@own")), "raised OSError: http://[hidden]@own", id="a secret"),
        pytest.param(raising(SystemExit(0)), "raised SystemExit: 0", id="ends the process"),
        pytest.param(raising(StopIteration()), "raised StopIteration", id="ends an iteration"),
        pytest.param(lambda *_: None, "raised TypeError: 'NoneType' object is not iterable", id="nothing"),
        pytest.param(lambda *_: [1], "gave 1 instead of a node, a time and a value", id="a number"),
        pytest.param(lambda *_: [("n1", 0.5)], "gave ('n1', 0.5) instead of a node", id="two"),
        pytest.param(lambda *_: [(1, 1.0, 0.5)], "gave (1, 1.0, 0.5) instead of a node", id="no name"),
        pytest.param(lambda *_: [("n1", "now", 0.5)], "gave ('n1', 'now', 0.5) instead of a node", id="no time"),
        pytest.param(lambda *_: [("n1", float("nan"), 0.5)], "gave ('n1', nan, 0.5) instead of a node", id="never"),
        pytest.param(lambda *_: [("n1", 1.0, True)], "gave ('n1', 1.0, True) instead of a node", id="no value"),
    ],
)
async def test_whatever_a_package_does_is_the_problem_of_the_result(
    api: Api, install: Install, samples: Callable[..., Any], problem: str
) -> None:
    install(samples)
    found = await result(api)
    assert found.problem.startswith(f"error getting node usage: Own {problem}")
    assert not found.samples


async def test_a_source_that_gives_samples_without_end_is_stopped(
    api: Api, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 1000)

    def samples(_args: Args, _query: str, times: Times) -> Iterator[Sample]:
        while True:
            yield "n1", times.now, 0.5

    install(samples)
    assert (await result(api)).problem == "error getting node usage: Own gave more than 1,000 samples"


async def test_a_source_that_hangs_is_asked_again_when_it_has_come_to_its_end(
    api: Api, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise each cycle would leave one more thread behind."""
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    threads: list[threading.Thread] = []
    go_on = threading.Event()

    def samples(_args: Args, _query: str, _times: Times) -> list[Sample]:
        threads.append(threading.current_thread())
        go_on.wait()
        return [("n1", 1.0, 0.5)]

    install(samples)
    source = QueriedUsage(api, {})
    first, second = [(await source.results(policy()))[OWN].problem for _ in range(2)]
    assert first == "error getting node usage: Own has not answered within 0 s"
    assert second == "error getting node usage: Own is still busy with the query of a cycle before"
    (thread,) = threads
    go_on.set()
    thread.join()
    monkeypatch.setattr(module, "PATIENCE", 60.0)
    assert (await source.results(policy()))[OWN].problem == ""


async def test_a_package_that_is_gone_since_the_policy_was_read_is_the_problem(api: Api, install: Install) -> None:
    install(lambda *_: [])
    asked = policy()
    with entry_points():
        found = await QueriedUsage(api, {}).results(asked)
    assert found[OWN].problem == "error initializing usage client: own client not initialized"


async def test_a_policy_that_goes_by_nothing_asks_nobody(double: Double, api: Api) -> None:
    asked = load_policy(msgspec.json.encode(a_policy("RemoveDuplicates", {})), "policy.json", plugins()).policy
    assert await QueriedUsage(api, {}).results(asked) == {}
    assert not double.asked


async def test_the_cycles_before_come_with_a_result_as_far_as_they_are_asked_for(api: Api, install: Install) -> None:
    values = iter((0.1, 0.2, 0.3, 0.4))
    install(lambda _args, _query, times: [("n1", times.now, next(values))])
    source, asked = QueriedUsage(api, {}), policy(usage={"cycles": 2, "ofCycles": 3})
    for _ in range(4):
        found = (await source.results(asked))[OWN]
    assert found.samples[0].values.tolist() == [0.4]
    assert [each.samples[0].values.tolist() for each in found.earlier] == [[0.3], [0.2]]
