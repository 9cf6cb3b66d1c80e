"""Strategies that go by real usage, against the real Descheduler: both ask the same stand-in for a Prometheus.

HighNodeUtilization goes by requests, whatever the policy names as a source: with a Prometheus in it nothing changes.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest

from builders import NOW, Object, node_metrics, pod_metrics, std_node
from oracle.cases import SEEDS, write_case
from oracle.chance import Chance
from oracle.comparison import Case, disagreement
from oracle.oracle_process import OracleProcess
from oracle.prometheus_double import PrometheusDouble, vector
from oracle.random_clusters import a_random_cluster
from oracle.random_policies import a_random_policy
from restow.client.credentials import Endpoint, Fixed, Identity
from restow.client.sessions import open_session
from restow.client.transport import Api
from restow.cluster.usage_samples import QueryResult, UsageQuery
from restow.descheduling.registry import plugins
from restow.errors import InputError
from restow.kube.objects import NodeMetrics
from restow.live.usage import PrometheusUsage
from restow.policies.load import load_policy
from restow.usage.measured import smoothed

pytestmark = pytest.mark.oracle

QUERY = "instance:node_cpu:ratio"
CHUNK = 50
CHUNKS = [SEEDS[start : start + CHUNK] for start in range(0, len(SEEDS), CHUNK)]


@pytest.fixture(scope="module")
def prometheus() -> Iterator[PrometheusDouble]:
    with PrometheusDouble() as running:
        yield running


@pytest.mark.parametrize("subject", ["LowNodeUtilization", "HighNodeUtilization"])
@pytest.mark.parametrize("seeds", CHUNKS, ids=[f"{chunk.start}:{chunk.stop}" for chunk in CHUNKS])
def test_restow_goes_by_a_prometheus_as_the_descheduler_does(
    oracle: OracleProcess, prometheus: PrometheusDouble, subject: str, seeds: range, compared: Counter[str]
) -> None:
    wrong = [text for seed in seeds if (text := unlike(subject, seed, oracle, prometheus))]
    compared[f"{subject} by Prometheus"] += len(seeds)
    assert not wrong, "\n\n".join(wrong)


def test_a_query_that_is_refused_keeps_both_from_working(oracle: OracleProcess, prometheus: PrometheusDouble) -> None:
    """The words after the colon are those of the client."""
    chance = Chance("refused")
    policy = with_prometheus(chance, a_random_policy(chance, "LowNodeUtilization"), prometheus.url, "no such query")
    cluster = [*a_random_cluster(chance), *(std_node(name, 4000, 3000, 10) for name in ("x1", "x2"))]
    [run] = oracle.ask(cluster, json.dumps(policy), now=NOW).runs
    [result] = told(json.dumps(policy)).values()
    begin = "error getting node usage: unable to capture prometheus metrics: "
    assert run.errors[0].error.startswith(begin)
    assert result.problem.startswith(begin)


def unlike(subject: str, seed: int, oracle: OracleProcess, prometheus: PrometheusDouble) -> str:
    """What restow does otherwise; empty if nothing."""
    chance = Chance(f"usage-{subject}-{seed}")
    chance.choose_traits({"qos"})
    cluster = a_random_cluster(chance)
    policy = with_prometheus(chance, a_random_policy(chance, subject), prometheus.url, QUERY)
    nodes = [each["metadata"]["name"] for each in cluster if each["kind"] == "Node"]
    prometheus.answers[QUERY] = an_answer(chance, nodes)
    text = json.dumps(policy)
    case = Case(cluster, text, told(text))
    wrong = disagreement(case, oracle)
    return (
        wrong
        and f"{subject}-{seed}: {wrong}\n{prometheus.answers[QUERY]}\nSee {write_case(f'usage-{subject}-{seed}', case)}"
    )


def with_prometheus(chance: Chance, policy: Object, url: str, query: str) -> Object:
    """The policy with a Prometheus that LowNodeUtilization asks, if it has that strategy."""
    policy["metricsProviders"] = [{"source": "Prometheus", "prometheus": {"url": url}}]
    for entry in policy["profiles"][0]["pluginConfig"]:
        if entry["name"] == "LowNodeUtilization":
            deviation = bool(entry["args"].get("useDeviationThresholds"))
            low = chance.choice([0, 5, 10, 20, 29.5, 40])
            high = chance.choice([0, 5, 10, 15]) if deviation else low + chance.choice([0, 10, 25.5, 50])
            entry["args"] |= {
                "thresholds": {"MetricResource": low},
                "targetThresholds": {"MetricResource": high},
                "metricsUtilization": {"source": "Prometheus", "prometheus": {"query": query}},
            }
    return policy


def an_answer(chance: Chance, nodes: list[str]) -> Object:
    """Samples of the nodes, now and then something that cannot be used."""
    samples: list[tuple[str | None, str]] = [(name, a_value(chance)) for name in nodes]
    if chance.maybe(0.2):
        samples.append(("somebody-else", "0.7"))
    if samples and chance.maybe(0.1):
        samples.append((chance.choice(nodes), a_value(chance)))
    if samples and chance.maybe(0.08):
        samples.pop(chance.randint(0, len(samples) - 1))
    if chance.maybe(0.05):
        samples.append(
            chance.choice([("odd", "1.0000001"), ("odd", "-0.25"), ("odd", "1e21"), ("odd", "+Inf"), (None, "0.5")])
        )
    if chance.maybe(0.04):
        return chance.choice([{"resultType": "scalar", "result": [0, "1"]}, {"resultType": "matrix", "result": []}])
    return vector(samples)


def a_value(chance: Chance) -> str:
    return chance.choice(
        ["0", "1", "0.29", "0.57", "0.5", str(round(chance.uniform(0, 1), 3)), repr(chance.uniform(0, 1))]
    )


def told(policy: str) -> Mapping[UsageQuery, QueryResult]:
    """What restow is told of the queries of a policy; nothing of one that it refuses."""
    try:
        loaded = load_policy(policy.encode(), "policy.json", plugins()).policy
    except InputError:
        return {}

    async def results() -> Mapping[UsageQuery, QueryResult]:
        async with open_session() as session:
            api = Api(Endpoint("http://127.0.0.1:1", Fixed(Identity())), session, None)
            return await PrometheusUsage(api, {}).results(loaded)

    return asyncio.run(results())


@pytest.mark.parametrize("seeds", CHUNKS, ids=[f"{chunk.start}:{chunk.stop}" for chunk in CHUNKS])
def test_restow_follows_the_usage_of_nodes_as_the_descheduler_does(
    oracle: OracleProcess, seeds: range, compared: Counter[str]
) -> None:
    """The Descheduler collects several samples of each node; restow is handed the mean that it makes of them."""
    wrong = [text for seed in seeds if (text := follows_otherwise(seed, oracle))]
    compared["samples of metrics.k8s.io"] += len(seeds)
    assert not wrong, "\n\n".join(wrong)


def follows_otherwise(seed: int, oracle: OracleProcess) -> str:
    chance = Chance(f"following-{seed}")
    chance.choose_traits({"qos"})
    cluster = a_random_cluster(chance)
    policy = a_random_policy(chance, "LowNodeUtilization")
    policy["metricsProviders"] = [{"source": "KubernetesMetrics"}]
    low, high = chance.choice([10, 25.5, 40]), chance.choice([40, 55.5, 70])
    for entry in policy["profiles"][0]["pluginConfig"]:
        if entry["name"] == "LowNodeUtilization":
            entry["args"] |= {
                "thresholds": {"cpu": low, "memory": low},
                "targetThresholds": {"cpu": high, "memory": high},
                "metricsUtilization": {"source": "KubernetesMetrics"},
            }
    rounds = chance.randint(2, 6)
    samples = {name: [a_sample(chance, name) for _ in range(rounds)] for name in names_of(cluster, "Node")}
    pods = [
        pod_metrics(each["metadata"]["name"], namespace=each["metadata"]["namespace"], cpu=f"{chance.randint(0, 900)}m")
        for each in cluster
        if each["kind"] == "Pod"
    ]
    others = [each for each in cluster if each["kind"] not in ("NodeMetrics", "PodMetrics")] + pods
    text = json.dumps(policy)
    theirs = Case([*others, *(each for known in samples.values() for each in known)], text)
    ours = Case([*others, *(mean_of(known) for known in samples.values())], text)
    wrong = disagreement(theirs, oracle, ours)
    return wrong and f"{seed}: {wrong}\nSee {write_case(f'following-{seed}', theirs)}"


def names_of(cluster: list[Object], kind: str) -> list[str]:
    return [each["metadata"]["name"] for each in cluster if each["kind"] == kind]


def a_sample(chance: Chance, node: str) -> Object:
    cpu = chance.choice([f"{chance.randint(0, 4000)}m", f"{chance.randint(0, 4 * 10**9)}n", "0", "2"])
    return node_metrics(node, cpu=cpu, memory=chance.choice([str(chance.randint(0, 4 * 2**30)), "1Gi", "700Mi"]))


def mean_of(samples: list[Object]) -> Object:
    mean: NodeMetrics | None = None
    for each in samples:
        mean = smoothed(mean, NodeMetrics(usage=each["usage"]))
    return samples[-1] | {"usage": mean.usage if mean is not None else {}}
