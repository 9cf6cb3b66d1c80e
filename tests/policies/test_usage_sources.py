"""Sources of usage of installed packages in a policy: what is read, what is refused, and what stays as it is without them."""

from __future__ import annotations

import ast

import pytest
from msgspec import Struct

from builders.policies import PLUGINS, as_yaml, strategy_policy
from docs.pages import ROOT
from restow.cluster.usage_samples import UsageQuery
from restow.policies.lint import lint_policy
from restow.policies.load import load_policy, read_policy_document, validate_policy
from restow.policies.understood import full_document, understood
from restow.policies.usage import queries_of
from restow.usage.sources import UsageSourceSchema

LIMITS = {"thresholds": {"MetricResource": 30}, "targetThresholds": {"MetricResource": 50}}


class GraphiteArgs(Struct, frozen=True, rename="camel"):
    url: str = ""
    api_token: str = ""
    hosts: tuple[str, ...] = ()


GRAPHITE = UsageSourceSchema(
    "Graphite",
    GraphiteArgs,
    validate=lambda args: [] if args.url else ["url needs to be set"],
    check_query=lambda query: ["{ is not closed"] if query.count("{") != query.count("}") else [],
)
SOURCES = {"Graphite": GRAPHITE}
PROVIDER = {"source": "Graphite", "args": {"url": "http://graphite"}}


def policy(usage, *providers):
    args = {**LIMITS, "metricsUtilization": usage, "evictionLimits": {"node": 1}}
    return as_yaml(strategy_policy("LowNodeUtilization", args, metricsProviders=list(providers)))


ASKING = {"source": "Graphite", "query": "servers.*.load"}


def problems(text, sources=SOURCES):
    return [str(each) for each in validate_policy(text, "p.yaml", PLUGINS, sources)]


def test_arguments_and_query_are_read():
    read = load_policy(policy(ASKING, PROVIDER), "p.yaml", PLUGINS, SOURCES).policy
    assert read.metrics_providers[0].args == GraphiteArgs("http://graphite")
    assert queries_of(read) == (UsageQuery("Graphite", "servers.*.load"),)
    assert lint_policy(policy(ASKING, PROVIDER), "p.yaml", PLUGINS, SOURCES) == []


def test_a_query_of_a_source_that_is_no_provider_is_not_asked():
    read = load_policy(policy(ASKING), "p.yaml", PLUGINS, SOURCES).policy
    assert queries_of(read) == ()
    (advice,) = lint_policy(policy(ASKING), "p.yaml", PLUGINS, SOURCES)
    assert "without metricsProviders: [{source: Graphite}]: graphite client not initialized" in str(advice)


@pytest.mark.parametrize(
    ("usage", "provider", "problem"),
    [
        pytest.param(ASKING, {"args": {"url": 3}}, "args.url: must be text, not a number", id="type"),
        pytest.param(ASKING, {"args": {"urls": "x"}}, 'unknown field "urls"; did you mean "url"?', id="unknown"),
        pytest.param(ASKING, {"args": "x"}, "args: must be a mapping, not text", id="no mapping"),
        pytest.param(ASKING, {}, "metricsProviders[0].args: url needs to be set", id="value"),
        pytest.param(ASKING, PROVIDER | {"prometheus": {}}, "prometheus: is for the source Prometheus", id="block"),
        pytest.param(
            {"source": "Graphite"}, PROVIDER, 'a query is required when metrics source is set to "Graphite"', id="none"
        ),
        pytest.param(ASKING | {"query": " "}, PROVIDER, "a query is required", id="blank"),
        pytest.param(ASKING | {"query": "{"}, PROVIDER, "metricsUtilization.query: { is not closed", id="query"),
        pytest.param(
            {"source": "Graphite", "prometheus": {"query": "up"}},
            PROVIDER,
            "metricsUtilization.prometheus: is for the source Prometheus; write query: ... for Graphite",
            id="query of Prometheus",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(usage, provider, problem):
    (told,) = problems(policy(usage, {"source": "Graphite"} | provider))
    assert problem in told
    assert told.startswith("p.yaml:")


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        pytest.param("Prometheus", "write prometheus: {query: ...}", id="Prometheus"),
        pytest.param("Graphit", 'did you mean "Graphite"?', id="misspelled"),
        pytest.param("Datadog", "it is for sources of installed packages, of which there are: Graphite", id="unknown"),
    ],
)
def test_a_query_elsewhere_is_the_unknown_field_that_it_is_for_upstream(source, hint):
    usage = {"source": source, "query": "up", "prometheus": {"query": "up"}}
    (told,) = [each for each in problems(policy(usage, PROVIDER)) if "query" in each]
    assert 'unknown field "metricsUtilization.query" of LowNodeUtilization' in told
    assert hint in told


def test_without_the_package_its_arguments_are_ignored_as_upstream_does():
    text = policy({"source": "KubernetesMetrics"}, PROVIDER)
    (warning,) = load_policy(text, "p.yaml", PLUGINS).warnings
    assert 'unknown key "args" is ignored' in str(warning)
    told = [str(each) for each in lint_policy(text, "p.yaml", PLUGINS)]
    assert any('metrics source "Graphite" is ignored' in each for each in told)


def test_a_provider_that_nobody_asks_is_noted():
    text = policy({"source": "KubernetesMetrics"}, PROVIDER, {"source": "KubernetesMetrics"})
    told = [str(each) for each in lint_policy(text, "p.yaml", PLUGINS, SOURCES)]
    assert any("no strategy asks Graphite for usage" in each for each in told)


def test_thresholds_are_of_the_one_resource_that_a_query_has():
    args = {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}, "metricsUtilization": ASKING}
    text = as_yaml(strategy_policy("LowNodeUtilization", args, metricsProviders=[PROVIDER]))
    assert any('a single instance of "MetricResource" resource' in each for each in problems(text))


def test_the_policy_as_understood_is_the_same_policy_without_what_is_secret():
    args = {"url": "http://me:secret@graphite", "apiToken": "s3cret", "hosts": ["http://you:secret@other"]}
    text = policy(ASKING, PROVIDER | {"args": args})
    shown = understood(read_policy_document(text, "p.yaml"), load_policy(text, "p.yaml", PLUGINS, SOURCES).policy)
    assert "query: servers.*.load" in shown
    assert "s3cret" not in shown
    assert "secret@" not in shown
    assert queries_of(load_policy(shown.encode(), "again.yaml", PLUGINS, SOURCES).policy)


def test_the_policy_as_understood_has_no_key_that_upstream_would_refuse():
    """Neither ``args`` nor ``query`` is written where the file has none."""
    text = policy({"source": "KubernetesMetrics"}, {"source": "KubernetesMetrics"})
    full = full_document(load_policy(text, "p.yaml", PLUGINS).policy)
    assert full["metricsProviders"] == [{"source": "KubernetesMetrics", "prometheus": None}]
    usage = full["profiles"][0]["pluginConfig"][1]["args"]["metricsUtilization"]
    assert usage == {"metricsServer": False, "source": "KubernetesMetrics", "prometheus": None}


READERS = ("load_policy", "load_document")
CALLS = [
    (path.relative_to(ROOT).as_posix(), ast.unparse(call))
    for path in sorted((ROOT / "src").rglob("*.py"))
    if "policies" not in path.parts and any(f"{name}(" in path.read_text(encoding="utf-8") for name in READERS)
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in READERS
]


@pytest.mark.parametrize(("place", "call"), CALLS, ids=[place for place, _ in CALLS])
def test_whoever_reads_policies_hands_the_sources_over(place, call):
    """Otherwise a command would refuse a policy that another one takes."""
    assert "usage_schemas()" in call, place
