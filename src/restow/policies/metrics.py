"""Sources of usage: validation of ``metricsProviders``.

Source: descheduler v0.36, validateDeschedulerConfiguration.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from restow.documents.findings import Issue
from restow.kube.excerpts import excerpt
from restow.policies.policy import KUBERNETES_METRICS, PROMETHEUS

if TYPE_CHECKING:
    from restow.documents.findings import Path
    from restow.policies.policy import AuthToken, MetricsProvider, Prometheus
    from restow.policies.wire import DeschedulerPolicy

_PROVIDERS: Path = ("metricsProviders",)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2}).{0,2}")
_HOST = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://(?:[^/?#]*@)?(?P<host>[^/?#]*)")
_NOT_IN_HOST = re.compile(r"[ \\^`{|}]")
_PORT = re.compile(r"(?:\[[^\]]*\]|[^:]*)(?P<port>:.*)?")


def check_metrics_providers(wire: DeschedulerPolicy) -> list[Issue]:
    """Return upstream's errors about the policy's metrics providers, in upstream's order."""
    issues = []
    first: dict[str, int] = {}
    for index, provider in enumerate(wire.metrics_providers):
        if provider.source in first:
            text = f'metric provider "{excerpt(provider.source)}" is already configured, each source can be configured only once'
            issues.append(Issue((*_PROVIDERS, index), text))
        first.setdefault(provider.source, index)
    if KUBERNETES_METRICS in first and wire.metrics_collector and wire.metrics_collector.enabled:
        text = "it is not allowed to combine metrics provider when metrics collector is enabled"
        issues.append(Issue(("metricsCollector",), text))
    if PROMETHEUS in first:
        index = first[PROMETHEUS]
        path = (*_PROVIDERS, index)
        issues += [Issue(path, text) for text in _check_prometheus(wire.metrics_providers[index])]
    return issues


def _check_prometheus(provider: MetricsProvider) -> list[str]:
    if provider.prometheus is None:
        return ["prometheus configuration is required when prometheus source is enabled"]
    return _check_url(provider.prometheus) + _check_token(provider.prometheus.auth_token)


def _check_url(prometheus: Prometheus) -> list[str]:
    if not prometheus.url:
        return ["prometheus URL is required when prometheus is enabled"]
    problem = url_problem(prometheus.url)
    return [f'error parsing prometheus URL: parse "{excerpt(prometheus.url)}": {problem}'] if problem else []


def _check_token(token: AuthToken | None) -> list[str]:
    if token is None:
        return []
    if token.secret_reference is None:
        return ["prometheus authToken secret is expected to be set when authToken field is"]
    if not (token.secret_reference.name and token.secret_reference.namespace):
        return ["prometheus authToken secret reference does not set both namespace and name"]
    return []


def url_problem(url: str) -> str | None:
    """Return what Go's ``net/url`` would find wrong: control characters, escapes, scheme, host and port."""
    if _CONTROL.search(url):
        return "net/url: invalid control character in URL"
    if url.startswith(":"):
        return "missing protocol scheme"
    host = _HOST.match(url)
    port = _PORT.match(host["host"]) if host else None
    if port and port["port"] and not re.fullmatch(":[0-9]*", port["port"]):
        return f'invalid port "{excerpt(port["port"])}" after host'
    character = _NOT_IN_HOST.search(host["host"]) if host else None
    if character:
        return f'invalid character "{character[0]}" in host name'
    escape = _ESCAPE.search(url.partition("?")[0])
    return f'invalid URL escape "{escape[0]}"' if escape else None
