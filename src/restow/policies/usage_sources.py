"""Sources of usage that installed packages bring, as a policy names them.

metricsProviders: [{source: Graphite, args: {url: http://graphite}}]
metricsUtilization: {source: Graphite, query: servers.*.load}

Which sources there are is the business of ``descheduling``, a room above this one, so the known ones are an argument of
every reader, as plugins are. Upstream has neither ``args`` nor ``query``; without a source that knows them they are what they are
for upstream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET, Struct, structs

from restow.documents.decoding import UnknownKey, decode
from restow.documents.findings import Issue
from restow.kube.excerpts import did_you_mean, excerpt
from restow.policies.policy import PROMETHEUS, MetricsProvider
from restow.policies.schema import no_errors
from restow.policies.spelling import ignored_key, unknown_field
from restow.policies.usage_section import MetricsUtilization

if TYPE_CHECKING:
    from restow.documents.findings import Path

_USAGE: Final = "metricsUtilization"


@dataclass(slots=True, frozen=True)
class UsageSourceSchema:
    """One source as the policy sees it."""

    name: str
    #: What ``metricsProviders[].args`` decodes to; unknown keys in it are refused.
    args: type[Struct]
    #: What is wrong with arguments, in sentences.
    validate: Callable[[Any], list[str]] = no_errors
    #: What is wrong with the text of a query, in sentences.
    check_query: Callable[[str], list[str]] = no_errors


#: The sources that a policy may name besides Kubernetes' metrics and Prometheus.
UsageSources = Mapping[str, UsageSourceSchema]
NO_SOURCES: Final[UsageSources] = {}


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
