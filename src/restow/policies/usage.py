"""Measured usage in a policy: the section ``restow.usage``, ``metricsProviders``, and the queries of strategies.

metricsProviders: [{source: Graphite, args: {url: http://graphite}}]
metricsUtilization: {source: Graphite, query: servers.*.load}

Which sources installed packages bring is an argument of every reader, as plugins are. Upstream has neither ``args`` nor
``query``; without a source that knows them they are what they are for upstream. Source of the rules for Prometheus:
descheduler v0.36, validateDeschedulerConfiguration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from restow.cluster.usage_samples import UsageQuery
from restow.documents.decoding import UnknownKey, decode
from restow.documents.findings import Issue
from restow.kube.duration import SECOND, format_duration
from restow.kube.excerpts import did_you_mean, excerpt
from restow.policies.building import ignored_key, unknown_field
from restow.policies.policy import MetricsProvider, Policy, RestowSettings, UsageSettings, provider_of
from restow.usage.sources import KUBERNETES_METRICS, PROMETHEUS, UsageSources, UsageSourceSchema

if TYPE_CHECKING:
    from restow.documents.findings import Path
    from restow.policies.policy import AuthToken, DeschedulerPolicy


#: Values of one node that are kept of a window.
_MOST: Final = 2000
_PATH: Final = ("restow", "usage")
_USAGE: Final = "metricsUtilization"

_METRICS_PROVIDERS: Path = ("metricsProviders",)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2}).{0,2}")
_HOST = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://(?:[^/?#]*@)?(?P<host>[^/?#]*)")
_NOT_IN_HOST = re.compile(r"[ \\^`{|}]")
_PORT = re.compile(r"(?:\[[^\]]*\]|[^:]*)(?P<port>:.*)?")


# A strategy that uses measured usage has the argument ``metrics_utilization: MetricsUtilization | None``. This
# identifies the strategies that need a metrics provider, also those of other packages.
class Prometheus(Struct, frozen=True, forbid_unknown_fields=True):
    """The query whose result is a node's usage, 0 to 1."""

    query: str = ""


class MetricsUtilization(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Where usage comes from; absent: the pods' requests. ``metrics_server`` is a deprecated KubernetesMetrics."""

    metrics_server: bool = False
    source: Annotated[str, Meta(extra={"go": "api.MetricsSource"})] = ""
    prometheus: Prometheus | None = None
    #: Of a source of an installed package. Upstream has no such key.
    query: str | UnsetType = UNSET

    @property
    def provider(self) -> str:
        """The metrics provider that is asked; "" where none is."""
        return KUBERNETES_METRICS if self.metrics_server else self.source

    @property
    def is_queried(self) -> bool:
        """Whether the source that is named answers queries, each with one figure for a node."""
        return self.source == PROMETHEUS or bool(self.query)

    @property
    def usage_query(self) -> UsageQuery | None:
        """The query; None if the source answers no queries."""
        of_prometheus = self.prometheus.query if self.prometheus is not None else ""
        text = of_prometheus if self.source == PROMETHEUS else self.query
        return UsageQuery(self.source, text) if text and self.provider == self.source and self.is_queried else None


def queries_of(policy: Policy) -> tuple[UsageQuery, ...]:
    """The queries of enabled strategies, each once; without those of sources that are not among the policy's providers."""
    asked = (usage.usage_query for _, usage in usage_in(policy))
    return tuple(dict.fromkeys(each for each in asked if each is not None and provider_of(policy, each.source)))


def kept_samples(policy: Policy) -> tuple[int, int]:
    """For how long samples of metrics.k8s.io are to be kept, and their distance (seconds): 0 and 0 if none are."""
    usage = policy.restow.usage
    if (
        usage is None
        or not usage.looks_back
        or not any(each.provider == KUBERNETES_METRICS for _, each in usage_in(policy))
    ):
        return 0, 0
    return usage.window // SECOND, usage.spacing // SECOND


def check_usage(settings: RestowSettings) -> Iterator[Issue]:
    """Yield what is wrong with the values of the section."""
    usage = settings.usage
    if usage is None:
        return
    if usage.percentile is not None and not 0 < usage.percentile <= 100:
        yield Issue((*_PATH, "percentile"), f"must be above 0, up to 100, not {usage.percentile:g}")
    for name, number in (("minSamples", usage.min_samples), ("cycles", usage.cycles)):
        if number < 1:
            yield Issue((*_PATH, name), f"must be 1 or more, not {number}")
    if usage.of_cycles and usage.of_cycles < usage.cycles:
        yield Issue((*_PATH, "ofCycles"), f"must be {usage.cycles} (cycles) or more, not {usage.of_cycles}")
    yield from _check_durations(usage)


def _check_durations(usage: UsageSettings) -> Iterator[Issue]:
    for name, duration in (("window", usage.window), ("maxAge", usage.max_age)):
        if duration < SECOND:
            yield Issue((*_PATH, name), "must be 1s or longer")
    for name, duration in (("step", usage.step), ("trendGuard", usage.trend_guard)):
        if duration < 0 or 0 < duration < SECOND:
            yield Issue((*_PATH, name), "must be 1s or longer, or 0s")
    if usage.reach and usage.spacing > usage.reach:
        yield Issue((*_PATH, "step"), f"must not be longer than {format_duration(usage.reach)}, which is looked at")
    elif usage.reach and usage.spacing >= SECOND and usage.reach // usage.spacing > _MOST:
        yield Issue((*_PATH, "step"), f"leaves more than {_MOST} values for each node; make it longer")
    elif usage.reach and usage.max_age < usage.spacing:
        yield Issue((*_PATH, "maxAge"), f"must not be shorter than {format_duration(usage.spacing)}, the step")
    elif usage.reach and usage.min_samples > (most := usage.window // usage.spacing):
        yield Issue((*_PATH, "minSamples"), f"must be {most} or less: a window has no more values")


def usage_of(args: Any) -> MetricsUtilization | None:
    """Where a strategy's arguments say that usage comes from; None where it does not ask."""
    found = getattr(args, "metrics_utilization", None)
    return found if isinstance(found, MetricsUtilization) else None


def usage_path(args: Any) -> Path:
    """Where a strategy's arguments say it: Rebalance has a word of its own."""
    return (_USAGE,) if "metrics_utilization" in args.__struct_fields__ else ("usage",)


def usage_in(policy: Policy) -> Iterator[tuple[str, MetricsUtilization]]:
    """Yield the enabled strategies of a policy that use measured usage, in its order, and its source."""
    for profile in policy.profiles:
        for name in (*profile.deschedule, *profile.balance):
            if (usage := usage_of(profile.args.get(name))) is not None:
                yield name, usage


def read_providers(
    providers: Sequence[MetricsProvider], sources: UsageSources
) -> tuple[tuple[MetricsProvider, ...], list[Issue]]:
    """Return the providers with arguments as their sources read them, and what is wrong with these."""
    read: list[MetricsProvider] = []
    issues: list[Issue] = []
    for index, provider in enumerate(providers):
        path: Path = ("metricsProviders", index)
        if provider.source not in sources:
            issues += _ignored_args(provider, path)
            read.append(structs.replace(provider, args=UNSET))
            continue
        args, problems = _read_args(provider, sources[provider.source], path)
        read.append(structs.replace(provider, args=args))
        issues += problems
    return tuple(read), issues


def _ignored_args(provider: MetricsProvider, path: Path) -> Iterator[Issue]:
    """Upstream ignores what it does not know."""
    if provider.args is not UNSET:
        yield ignored_key(UnknownKey((*path, "args"), ("args",), ("source", "prometheus")))


def _read_args(provider: MetricsProvider, schema: UsageSourceSchema, path: Path) -> tuple[Struct | None, list[Issue]]:
    place = (*path, "args")
    decoded = decode(None if provider.args is UNSET else provider.args, schema.args, place)
    issues = list(decoded.strictly())
    if provider.prometheus is not None:
        issues.append(Issue((*path, "prometheus"), f"is for the source {PROMETHEUS}, not {excerpt(schema.name)}"))
    if decoded.value is not None and not decoded.unknown:
        issues += [Issue(place, text) for text in schema.validate(decoded.value)]
    return decoded.value, issues


def check_query(usage: MetricsUtilization | None, owner: str, path: Path, sources: UsageSources) -> list[Issue]:
    """Return what is wrong with the query that the arguments of a strategy at a path ask; nothing where they ask none."""
    if usage is None or (usage.source not in sources and usage.query is UNSET):
        return []
    place = (*path, _USAGE, "query")
    if usage.source not in sources:
        key = UnknownKey(place, (_USAGE, "query"), ())
        return [unknown_field(key, owner, _instead(usage.source, sources))]
    schema, name = sources[usage.source], excerpt(usage.source)
    if usage.prometheus is not None:
        return [Issue((*path, _USAGE, "prometheus"), f"is for the source {PROMETHEUS}; write query: ... for {name}")]
    if not isinstance(usage.query, str) or not usage.query.strip():
        return [Issue((*path, _USAGE), f'a query is required when metrics source is set to "{name}"')]
    return [Issue(place, text) for text in schema.check_query(usage.query)]


def _instead(source: str, sources: UsageSources) -> str:
    """Return what to do about a query to a source that no installed package provides."""
    if source == PROMETHEUS:
        return "write prometheus: {query: ...}"
    known = ", ".join(sources) or "none"
    hint = did_you_mean(source, sources)
    return hint or f"it is for sources of installed packages, of which there are: {known}"


def check_metrics_providers(wire: DeschedulerPolicy) -> list[Issue]:
    """Return upstream's errors about the policy's metrics providers, in upstream's order."""
    issues = []
    first: dict[str, int] = {}
    for index, provider in enumerate(wire.metrics_providers):
        if provider.source in first:
            text = f'metric provider "{excerpt(provider.source)}" is already configured, each source can be configured only once'
            issues.append(Issue((*_METRICS_PROVIDERS, index), text))
        first.setdefault(provider.source, index)
    if KUBERNETES_METRICS in first and wire.metrics_collector and wire.metrics_collector.enabled:
        text = "it is not allowed to combine metrics provider when metrics collector is enabled"
        issues.append(Issue(("metricsCollector",), text))
    if PROMETHEUS in first:
        index = first[PROMETHEUS]
        path = (*_METRICS_PROVIDERS, index)
        issues += [Issue(path, text) for text in _check_prometheus(wire.metrics_providers[index])]
    return issues


def _check_prometheus(provider: MetricsProvider) -> list[str]:
    if provider.prometheus is None:
        return ["prometheus configuration is required when prometheus source is enabled"]
    return _check_url(provider.prometheus.url) + _check_token(provider.prometheus.auth_token)


def _check_url(url: str) -> list[str]:
    if not url:
        return ["prometheus URL is required when prometheus is enabled"]
    problem = url_problem(url)
    return [f'error parsing prometheus URL: parse "{excerpt(url)}": {problem}'] if problem else []


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
