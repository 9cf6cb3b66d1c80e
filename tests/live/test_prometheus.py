"""The usage that a Prometheus tells: who asks with which token, what goes out, and what is said where nothing comes."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from builders import Object
from client.double import Answer as Reply
from client.double import Double, a_status, an_answer, an_api
from descheduling.harness import a_policy
from restow.client.transport import Api
from restow.cluster.usage_samples import QueryResult, UsageQuery
from restow.descheduling.registry import plugins
from restow.live.usage import PrometheusUsage
from restow.policies.load import load_policy
from restow.policies.policy import Policy

pytestmark = pytest.mark.asyncio

ASKED = "/api/v1/query"
SECRET = "/api/v1/namespaces/monitoring/secrets/token"
QUERY = "instance:load"
ASKED_OF_PROMETHEUS = UsageQuery("Prometheus", QUERY)
IN_A_POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}


@pytest_asyncio.fixture
async def api(double: Double) -> AsyncIterator[Api]:
    """Prometheus is asked where the API server is."""
    async with an_api(double.url) as made:
        yield made


def policy(double: Double, secret: Object | None = None, **restow: Any) -> Policy:
    limits = {"thresholds": {"MetricResource": 30}, "targetThresholds": {"MetricResource": 50}}
    source = {"metricsUtilization": {"source": "Prometheus", "prometheus": {"query": QUERY}}}
    provider: Object = {"url": double.url} | ({"authToken": {"secretReference": secret}} if secret else {})
    document = a_policy(
        "LowNodeUtilization",
        limits | source,
        metricsProviders=[{"source": "Prometheus", "prometheus": provider}],
        restow=restow,
    )
    return load_policy(msgspec.json.encode(document), "policy.json", plugins()).policy


def a_vector(**values: float) -> Reply:
    result = [{"metric": {"instance": name}, "value": [100.0, str(value)]} for name, value in values.items()]
    return an_answer({"data": {"resultType": "vector", "result": result}})


def authorization(double: Double) -> str | None:
    return double.asked[-1].headers.get("Authorization")


async def result(api: Api, asked: Policy, environ: Mapping[str, str] | None = None, **more: Any) -> QueryResult:
    found = await PrometheusUsage(api, environ or {}, **more).results(asked)
    assert list(found) == [ASKED_OF_PROMETHEUS]
    return found[ASKED_OF_PROMETHEUS]


async def test_the_newest_value_of_each_node_is_asked_for(double: Double, api: Api) -> None:
    double.answers("GET", ASKED, a_vector(n1=0.5, n2=0.25))
    found = await result(api, policy(double))
    assert [(each.node, each.values.tolist()) for each in found.samples] == [("n1", [0.5]), ("n2", [0.25])]
    assert double.asked[0].params == {"query": QUERY}
    assert authorization(double) is None


async def test_a_policy_that_goes_by_nothing_asks_nobody(double: Double, api: Api) -> None:
    asked = load_policy(msgspec.json.encode(a_policy("RemoveDuplicates", {})), "policy.json", plugins()).policy
    assert await PrometheusUsage(api, {}).results(asked) == {}
    assert not double.asked


async def test_a_percentile_asks_for_the_history(double: Double, api: Api) -> None:
    values = [[40.0, "0.25"], [100.0, "0.75"]]
    ranges = [{"metric": {"instance": "n1"}, "values": values}]
    double.answers("GET", ASKED, an_answer({"data": {"resultType": "matrix", "result": ranges}}))
    found = await result(api, policy(double, usage={"percentile": 95, "window": "1h"}))
    assert double.asked[0].params == {"query": f"({QUERY}\n)[3600s:60s]"}
    assert found.samples[0].times.tolist() == [40.0, 100.0]


async def test_the_secret_of_the_policy_has_the_token(double: Double, api: Api) -> None:
    token = base64.b64encode(b"s3cret\n").decode()
    double.answers("GET", SECRET, an_answer({"data": {"prometheusAuthToken": token}}))
    double.answers("GET", ASKED, a_vector(n1=0.5))
    found = await result(api, policy(double, {"namespace": "monitoring", "name": "token"}), IN_A_POD)
    assert (found.problem, authorization(double)) == ("", "Bearer s3cret")


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        pytest.param(
            a_status(404, "NotFound", "secrets not found"), "unable to get monitoring/token secret: ", id="gone"
        ),
        pytest.param(
            an_answer({"data": {"token": "eA=="}}),
            'prometheus authentication token secret missing "prometheusAuthToken" data or empty',
            id="another key",
        ),
        pytest.param(an_answer({}), 'secret missing "prometheusAuthToken" data or empty', id="empty"),
    ],
)
async def test_without_the_token_nobody_is_asked(double: Double, api: Api, reply: Reply, told: str) -> None:
    double.answers("GET", SECRET, reply)
    found = await result(api, policy(double, {"namespace": "monitoring", "name": "token"}))
    assert found.problem.startswith("error initializing usage client: prometheus client not initialized: ")
    assert told in found.problem
    assert all(each.path != ASKED for each in double.asked)


async def test_a_pod_shows_the_token_of_its_service_account(double: Double, api: Api, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("mine")
    double.answers("GET", ASKED, a_vector(n1=0.5))
    await result(api, policy(double), IN_A_POD, service_account=tmp_path)
    assert authorization(double) == "Bearer mine"


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        pytest.param(
            an_answer({"data": {"resultType": "scalar", "result": [0, "1"]}}),
            'expected query results to be of type "vector", got "scalar" instead',
            id="scalar",
        ),
        pytest.param(
            an_answer({"error": "1:3: parse error"}, status=400),
            "unable to capture prometheus metrics: Prometheus at .* refuses the query: 1:3: parse error",
            id="refused",
        ),
        pytest.param(
            an_answer({}, status=403), "unable to capture prometheus metrics: Prometheus at .* answered 403", id="403"
        ),
    ],
)
async def test_whatever_goes_wrong_is_the_problem_of_the_result(
    double: Double, api: Api, reply: Reply, told: str
) -> None:
    double.answers("GET", ASKED, reply)
    found = await result(api, policy(double))
    assert re.match(f"error getting node usage: {told}", found.problem)
    assert not found.samples


async def test_authorities_that_cannot_be_read_are_the_problem_too(double: Double, api: Api, tmp_path: Path) -> None:
    double.url = "https://127.0.0.1:1"
    found = await result(api, policy(double, usage={"caFile": str(tmp_path / "none.crt")}))
    assert found.problem.startswith("error initializing usage client: prometheus client not initialized: ")
    assert "none.crt: No such file" in found.problem
