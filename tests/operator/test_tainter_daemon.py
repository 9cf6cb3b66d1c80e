"""What Prometheus says of nodes: shares of 1 by node, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import structs

from builders.kubedeschedulers import INSTALLED, OPENSHIFT, a_kubedescheduler
from builders.policies import PLUGINS
from client.double import a_double, an_answer, an_api
from restow.errors import ClientError
from restow.live.usage import PrometheusUsage
from restow.operator.desired import desired
from restow.operator.soft_tainting import node_usage
from restow.policies.load import load_policy

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

RESOURCE = a_kubedescheduler("KubeVirtRelieveAndMigrate", custom={"devActualUtilizationProfile": "query:up"})


async def usage(answer: Any, *, providers: bool = True) -> Mapping[str, float]:
    """By the policy of a resource."""
    async with a_double() as double, an_api(double.url) as api:
        double.answers("GET", "/api/v1/query", answer)
        text = desired(RESOURCE, OPENSHIFT, INSTALLED).policy.replace("https://prometheus.example.com", double.url)
        policy = load_policy(text.encode(), "policy.yaml", PLUGINS).policy
        if not providers:
            policy = structs.replace(policy, metrics_providers=())
        return await node_usage(PrometheusUsage(api, {}), policy, "up")


def vector(**values: str) -> Any:
    result = [{"metric": {"instance": name}, "value": [1.0, value]} for name, value in values.items()]
    return an_answer({"status": "success", "data": {"resultType": "vector", "result": result}})


async def test_figures_by_node():
    assert await usage(vector(a="0.25", b="1")) == {"a": 0.25, "b": 1.0}


@pytest.mark.parametrize("value", ["1.01", "-0.1", "NaN", "+Inf"])
async def test_what_is_no_share_is_refused(value):
    with pytest.raises(ClientError, match=r"outside of <0; 1> interval"):
        await usage(vector(a=value))


async def test_what_prometheus_refuses_is_told():
    with pytest.raises(ClientError, match="unable to capture prometheus metrics"):
        await usage(an_answer({"status": "error", "error": "bad query"}, status=400))


async def test_a_policy_without_prometheus():
    with pytest.raises(ClientError, match="names no Prometheus"):
        await usage(vector(), providers=False)
