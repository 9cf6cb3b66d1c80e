"""What Prometheus says of nodes: shares of 1 by instance, and nothing else."""

from __future__ import annotations

import pytest

from client.double import a_double, an_answer
from restow.client.errors import ClientError
from restow.operator.node_usage import node_usage
from restow.policies.policy import PROMETHEUS, MetricsProvider, Policy, Prometheus

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


def a_policy(url: str) -> Policy:
    return Policy(metrics_providers=(MetricsProvider(PROMETHEUS, Prometheus(url)),))


def vector(**values: str):
    result = [{"metric": {"instance": name}, "value": [1.0, value]} for name, value in values.items()]
    return an_answer({"status": "success", "data": {"resultType": "vector", "result": result}})


async def test_figures_by_instance():
    async with a_double() as double:
        double.answers("GET", "/api/v1/query", vector(a="0.25", b="1"))
        assert await node_usage(a_policy(double.url), "up", {}) == {"a": 0.25, "b": 1.0}
        (asked,) = double.asked
    assert asked.params["query"] == "up"
    assert "Authorization" not in asked.headers


@pytest.mark.parametrize("value", ["1.01", "-0.1", "NaN", "+Inf"])
async def test_what_is_no_share_is_refused(value):
    async with a_double() as double:
        double.answers("GET", "/api/v1/query", vector(a=value))
        with pytest.raises(ClientError, match=r"outside of <0; 1> interval"):
            await node_usage(a_policy(double.url), "up", {})


async def test_a_policy_without_prometheus():
    with pytest.raises(ClientError, match="names no Prometheus"):
        await node_usage(Policy(), "up", {})
