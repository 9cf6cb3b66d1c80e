"""Validation of metrics providers, with upstream's texts."""

from __future__ import annotations

import pytest

from builders.policies import PLUGINS, a_policy, as_yaml
from restow.policies.load import validate_policy
from restow.policies.usage import url_problem

KUBERNETES = {"source": "KubernetesMetrics"}


def prometheus(**block):
    return {"source": "Prometheus", "prometheus": block}


URL = "http://prometheus:9090"


@pytest.mark.parametrize(
    ("providers", "expected"),
    [
        pytest.param([KUBERNETES, prometheus(url=URL)], [], id="both"),
        pytest.param([{"source": "Other"}], [], id="unknown source"),
        pytest.param(
            [KUBERNETES, KUBERNETES],
            ['metric provider "KubernetesMetrics" is already configured, each source can be configured only once'],
            id="repeated",
        ),
        pytest.param(
            [{"source": "Prometheus"}],
            ["prometheus configuration is required when prometheus source is enabled"],
            id="no block",
        ),
        pytest.param([prometheus()], ["prometheus URL is required when prometheus is enabled"], id="no url"),
        pytest.param(
            [prometheus(url="http://example.com:-80")],
            ['error parsing prometheus URL: parse "http://example.com:-80": invalid port ":-80" after host'],
            id="bad port",
        ),
        pytest.param(
            [prometheus(url=URL, authToken={})],
            ["prometheus authToken secret is expected to be set when authToken field is"],
            id="token without secret",
        ),
        pytest.param(
            [prometheus(authToken={"secretReference": {"name": "a"}})],
            [
                "prometheus URL is required when prometheus is enabled",
                "prometheus authToken secret reference does not set both namespace and name",
            ],
            id="no url, secret without namespace",
        ),
        pytest.param(
            [prometheus(url=URL, authToken={"secretReference": {"name": "a", "namespace": "b"}})], [], id="with token"
        ),
    ],
)
def test_metrics_providers(providers, expected):
    found = validate_policy(as_yaml(a_policy(metricsProviders=providers)), "p.yaml", PLUGINS)
    assert [finding.message for finding in found] == expected


def test_a_provider_does_not_go_with_the_deprecated_switch():
    policy = a_policy(metricsProviders=[KUBERNETES], metricsCollector={"enabled": True})
    (finding,) = validate_policy(as_yaml(policy), "p.yaml", PLUGINS)
    assert finding.message == "it is not allowed to combine metrics provider when metrics collector is enabled"


@pytest.mark.parametrize("url", [URL, "https://a.b/c?d=%zz#e", "prometheus", "http://[::1]:9090/x", "http://u:p@h:1"])
def test_urls_that_go_parses(url):
    assert url_problem(url) is None


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://h:port", 'invalid port ":port" after host'),
        ("http://a b:1/", 'invalid character " " in host name'),
        (":9090", "missing protocol scheme"),
        ("http://h/%zz", 'invalid URL escape "%zz"'),
        ("http://h\n", "net/url: invalid control character in URL"),
    ],
)
def test_urls_that_go_does_not_parse(url, problem):
    assert url_problem(url) == problem
